/** Installations that are broken, with real files: the first call, the command line and the doctor say one thing, once. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { projectRoot } from "../../project.ts";
import { builtLibtorch, ownPackage, version } from "../planted.ts";
import { type Installed, installed, scratch } from "./installed.ts";

const isLinux = process.platform === "linux" && process.arch === "x64";
const skip = isLinux ? false : "what is broken here is broken as on Linux for x86-64";

/** One error of a call, the same of a command, without a stack; and the doctor names it too. */
async function refused(
  { run }: Installed,
  code: string,
  message: RegExp,
  ...how: Parameters<Installed["run"]>
): Promise<void> {
  const { called, exit, stderr, doctor } = await run(...how);
  assert.match(called, new RegExp(`^SeekError ${code}: .*${message.source}.*Remedy: `));
  assert.equal(stderr, `${called.slice("SeekError ".length)}\n`);
  assert.equal(exit, 1);
  assert.equal(doctor, called.slice(`SeekError ${code}: `.length));
}

test("an installation that is whole runs", { skip }, async () => {
  const { run } = await installed();
  assert.deepEqual(await run(), { called: "runs", exit: 0, stderr: "", doctor: "runs" });
});

test("a package that is missing, or of another platform", { skip }, async () => {
  const install = await installed();
  await rename(install.platform, join(install.modules, "@seekrl", "darwin-arm64"));
  await refused(
    install,
    "ERR_STATE",
    /node_modules has @seekrl\/darwin-arm64, so it was installed on another/,
  );
  await rm(join(install.modules, "@seekrl"), { recursive: true });
  await refused(install, "ERR_STATE", new RegExp(`${ownPackage} is not installed: optional dependencies`));
});

test("an addon that was cut short, and a libtorch that is not there", { skip }, async () => {
  const install = await installed();
  await truncate(join(install.platform, "seekrl.node"), 1000);
  await refused(install, "ERR_FORMAT", /seekrl\.node: expected \d+ bytes, got 1000/);
  const whole = await installed();
  await refused(whole, "ERR_STATE", /libtorch \S+ was not found/, { SEEKRL_LIBTORCH: undefined });
});

/** A folder with the libraries of this checkout's libtorch but for one, which is changed. */
async function damagedLibtorch(name: string, change: (path: string) => Promise<void>): Promise<string> {
  const [from, folder] = [builtLibtorch(), join(scratch, `damaged-${name}`)];
  await mkdir(join(folder, "lib"), { recursive: true });
  await symlink(join(from, "include"), join(folder, "include"));
  for (const each of ["libgomp.so.1", "libc10.so", "libtorch_cpu.so", "libtorch.so"])
    if (each !== name && existsSync(join(from, "lib", each)))
      await symlink(join(from, "lib", each), join(folder, "lib", each));
  await cp(join(from, "lib", name), join(folder, "lib", name));
  await change(join(folder, "lib", name));
  return folder;
}

// Of the first the loader dies with SIGBUS.
test("a libtorch of somebody's own that was cut short, or is for another processor", { skip }, async () => {
  const install = await installed();
  const short = await damagedLibtorch("libc10.so", (path) => truncate(path, 20_000));
  await refused(
    install,
    "ERR_FORMAT",
    /libc10\.so: expected at least \d+ bytes, got 20000: it was cut short/,
    { SEEKRL_LIBTORCH: short },
  );
  const foreign = await damagedLibtorch("libtorch.so", async (path) => {
    const bytes = await readFile(path);
    bytes.writeUInt16LE(183, 18);
    await writeFile(path, bytes);
  });
  await refused(install, "ERR_FORMAT", /libtorch\.so: expected a library for x64, got one for arm64/, {
    SEEKRL_LIBTORCH: foreign,
  });
});

test("a package of another version, and a second copy of seekrl in the process", { skip }, async () => {
  const install = await installed();
  const stamp = join(install.platform, "stamp.json");
  await writeFile(stamp, (await readFile(stamp, "utf8")).replace(`"${version}"`, '"0.0.9"'));
  await refused(install, "ERR_STATE", new RegExp(`seekrl is ${version} .* is 0\\.0\\.9 `));
  const whole = await installed();
  const other = join(scratch, "other-copy", "node_modules");
  await cp(join(projectRoot, "dist/lib/base"), join(other, "seekrl/dist/lib/base"), { recursive: true });
  await cp(join(whole.modules, "seekrl/package.json"), join(other, "seekrl/package.json"));
  await cp(whole.platform, join(other, ownPackage), { recursive: true });
  const first = `import { native } from "${join(other, "seekrl/dist/lib/base/addon/native.js")}"; native();`;
  await refused(
    whole,
    "ERR_STATE",
    /addon is in this process already, from .*this copy of seekrl has/,
    {},
    first,
  );
});

/** As the linker hashes the name of a version. */
function elfHash(name: string): number {
  let hash = 0;
  for (const byte of Buffer.from(name)) {
    hash = ((hash << 4) + byte) >>> 0;
    const high = hash & 0xf0000000;
    if (high !== 0) hash ^= high >>> 24;
    hash = (hash & ~high) >>> 0;
  }
  return hash;
}

/** Has a library ask for another version of glibc than the one that it was linked with. */
async function askFor(path: string, from: string, to: string): Promise<void> {
  const bytes = await readFile(path);
  bytes.write(to, bytes.indexOf(`${from}\0`), "latin1");
  const sought = Buffer.alloc(4);
  sought.writeUInt32LE(elfHash(from));
  for (let at = bytes.indexOf(sought); at !== -1; at = bytes.indexOf(sought, at + 1))
    bytes.writeUInt32LE(elfHash(to), at);
  await writeFile(path, bytes);
}

const { writeStamp } = (await import(
  pathToFileURL(join(projectRoot, "scripts", "pack", "stamp.mjs")).href
)) as { writeStamp(folder: string, names: readonly string[], about: object): Promise<object> };

test("a system with an older glibc than the addon asks for, by its own loader", { skip }, async () => {
  const install = await installed();
  await askFor(join(install.platform, "seekrl_preload.node"), "GLIBC_2.14", "GLIBC_9.99");
  const { files, ...about } = JSON.parse(await readFile(join(install.platform, "stamp.json"), "utf8"));
  await writeStamp(install.platform, Object.keys(files), about);
  await refused(
    install,
    "ERR_STATE",
    /version `GLIBC_9\.99' not found .*this system has glibc 2\.\d+, glibc 2\.28 or later is expected/,
  );
});

/** Has Node's report say another glibc, or none, and hides the library that is in the process, as on Alpine. */
const reporting = (glibc: string | undefined, isHidden = true) => `
  process.report.getReport = () => ({ header: { glibcVersionRuntime: ${JSON.stringify(glibc)} } });
  const fs = process.getBuiltinModule("node:fs");
  const { readFileSync } = fs;
  if (${isHidden}) fs.readFileSync = (path, ...how) =>
    path === "/proc/self/maps" ? "/lib/ld-musl-x86_64.so.1" : readFileSync(path, ...how);
  process.getBuiltinModule("node:module").syncBuiltinESMExports();`;

test("musl and an older glibc are refused before anything is loaded, the package there or not", {
  skip,
}, async () => {
  const install = await installed();
  await refused(
    install,
    "ERR_STATE",
    /linux-x64 with musl, Alpine's C library: expected glibc 2\.28/,
    {},
    reporting(undefined),
  );
  await refused(
    install,
    "ERR_STATE",
    /linux-x64 with glibc 2\.17: expected glibc 2\.28 or later/,
    {},
    reporting("2.17"),
  );
  assert.equal(
    (await install.run({}, reporting(undefined, false))).called,
    "runs",
    "glibc that states no version",
  );
  await rm(install.platform, { recursive: true });
  await refused(install, "ERR_STATE", /with musl/, {}, reporting(undefined));
});

test("another libtorch that came first, really loaded; the same one is shared", { skip }, async () => {
  const install = await installed();
  const other = join(scratch, "other", "lib");
  await cp(join(builtLibtorch(), "lib", "libc10.so"), join(other, "libtorch_cpu.so"));
  const opened = (path: string) =>
    `process.dlopen((globalThis.preload = { exports: {} }), "${join(install.platform, "seekrl_preload.node")}");
    preload.exports.openLibrary("${path}");`;
  await refused(
    install,
    "ERR_STATE",
    /libtorch is in this process already, from .*other\/lib\/libtorch_cpu\.so; seekrl has .* holds one libtorch/,
    {},
    opened(join(other, "libtorch_cpu.so")),
  );
  const { called } = await install.run({}, opened(join(builtLibtorch(), "lib", "libc10.so")));
  assert.equal(called, "runs");
});

test("a CUDA libtorch without its libraries, or with those of another CUDA, leads to setup cuda", {
  skip,
}, async () => {
  const install = await installed();
  const chosen = async (needed: string) => {
    const cache = join(scratch, "chosen");
    await mkdir(cache, { recursive: true });
    await writeFile(
      join(cache, "libtorch.json"),
      JSON.stringify({ folder: builtLibtorch(), needed: [needed] }),
    );
    return { SEEKRL_CACHE: cache, SEEKRL_LIBTORCH: undefined };
  };
  const runtime = join(scratch, "libcudart.so.13");
  await refused(
    install,
    "ERR_STATE",
    /expected libcudart\.so\.13 in .*: ENOENT.*Was it moved\?/,
    await chosen(runtime),
  );
  await cp(join(install.platform, "seekrl_preload.node"), runtime);
  await askFor(runtime, "libstdc++.so.6", "libcudart.so12");
  await refused(
    install,
    "ERR_STATE",
    /libcudart\.so12: cannot open.*NVIDIA's libraries are not those/,
    await chosen(runtime),
  );
});
