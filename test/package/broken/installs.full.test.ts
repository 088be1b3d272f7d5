/** Installations that are broken, with real files: the first call, the command line and the doctor say one thing, once. */
import assert from "node:assert/strict";
import { cp, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../../project.ts";
import { ownPackage, version, writeStamp } from "../planted.ts";
import { askFor } from "./elf.ts";
import { installed, refused, scratch, skip } from "./installed.ts";

test("an installation that is whole runs", { skip }, async () => {
  const { run } = await installed();
  assert.deepEqual(await run(), { called: "runs", exit: 0, stderr: "", doctor: "runs", doctorExit: 0 });
});

test("a package of another platform is named", { skip }, async () => {
  const install = await installed();
  await rename(install.platform, join(install.modules, "@seekrl", "darwin-arm64"));
  await refused(
    install,
    "ERR_STATE",
    /node_modules has @seekrl\/darwin-arm64, so it was installed on another/,
  );
});

test("a package that is missing is named", { skip }, async () => {
  const install = await installed();
  await rm(join(install.modules, "@seekrl"), { recursive: true });
  await refused(install, "ERR_STATE", new RegExp(`${ownPackage} is not installed: optional dependencies`));
});

test("an addon that was cut short is named with both sizes", { skip }, async () => {
  const install = await installed();
  await truncate(join(install.platform, "seekrl.node"), 1000);
  await refused(install, "ERR_FORMAT", /seekrl\.node: expected \d+ bytes, got 1000/);
});

test("a package of another version is named with both", { skip }, async () => {
  const install = await installed();
  const stamp = join(install.platform, "stamp.json");
  await writeFile(stamp, (await readFile(stamp, "utf8")).replace(`"${version}"`, '"0.0.9"'));
  await refused(install, "ERR_STATE", new RegExp(`seekrl is ${version} .* is 0\\.0\\.9 `));
});

test("a second copy of seekrl in the process is refused", { skip }, async () => {
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

test("musl is refused before anything is loaded, the package there or not", { skip }, async () => {
  const install = await installed();
  const said = /linux-x64 with musl, Alpine's C library: expected glibc 2\.28/;
  await refused(install, "ERR_STATE", said, {}, reporting(undefined));
  await rm(install.platform, { recursive: true });
  await refused(install, "ERR_STATE", said, {}, reporting(undefined));
});

test("an older glibc is refused before anything is loaded", { skip }, async () => {
  const said = /linux-x64 with glibc 2\.17: expected glibc 2\.28 or later/;
  await refused(await installed(), "ERR_STATE", said, {}, reporting("2.17"));
});

test("a glibc that states no version runs", { skip }, async () => {
  const { run } = await installed();
  assert.equal((await run({}, reporting(undefined, false))).called, "runs");
});
