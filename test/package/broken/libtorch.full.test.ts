/** Libtorches that are missing, damaged or not the one that is needed, with real files: refused before the loader dies of them. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { builtLibtorch } from "../planted.ts";
import { askFor } from "./elf.ts";
import { type Installed, installed, refused, scratch, skip } from "./installed.ts";

test("a libtorch that is not there is missed by its version", { skip }, async () => {
  await refused(await installed(), "ERR_STATE", /libtorch \S+ was not found/, { SEEKRL_LIBTORCH: undefined });
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

// The loader dies of it with SIGBUS.
test("a libtorch of somebody's own that was cut short is refused before it is loaded", { skip }, async () => {
  const install = await installed();
  const short = await damagedLibtorch("libc10.so", (path) => truncate(path, 20_000));
  await refused(
    install,
    "ERR_FORMAT",
    /libc10\.so: expected at least \d+ bytes, got 20000: it was cut short/,
    { SEEKRL_LIBTORCH: short },
  );
});

test("a libtorch of somebody's own for another processor is refused with both", { skip }, async () => {
  const install = await installed();
  const foreign = await damagedLibtorch("libtorch.so", async (path) => {
    const bytes = await readFile(path);
    bytes.writeUInt16LE(183, 18);
    await writeFile(path, bytes);
  });
  await refused(install, "ERR_FORMAT", /libtorch\.so: expected a library for x64, got one for arm64/, {
    SEEKRL_LIBTORCH: foreign,
  });
});

/** Opens a library before seekrl does. */
const opened = ({ platform }: Installed, path: string) =>
  `process.dlopen((globalThis.preload = { exports: {} }), "${join(platform, "seekrl_preload.node")}");
  preload.exports.openLibrary("${path}");`;

test("another libtorch that was loaded first is refused with both", { skip }, async () => {
  const install = await installed();
  const other = join(scratch, "other", "lib");
  await cp(join(builtLibtorch(), "lib", "libc10.so"), join(other, "libtorch_cpu.so"));
  await refused(
    install,
    "ERR_STATE",
    /libtorch is in this process already, from .*other\/lib\/libtorch_cpu\.so; seekrl has .* holds one libtorch/,
    {},
    opened(install, join(other, "libtorch_cpu.so")),
  );
});

test("the same libtorch, loaded first by somebody else, is shared", { skip }, async () => {
  const install = await installed();
  const { called } = await install.run({}, opened(install, join(builtLibtorch(), "lib", "libc10.so")));
  assert.equal(called, "runs");
});

const runtime = join(scratch, "libcudart.so.13");

/** Variables of a user for whom `setup cuda` chose a libtorch that needs the runtime. */
async function withCuda(): Promise<Readonly<Record<string, string | undefined>>> {
  const cache = join(scratch, "chosen");
  await mkdir(cache, { recursive: true });
  const chosen = { folder: builtLibtorch(), needed: [runtime] };
  await writeFile(join(cache, "libtorch.json"), JSON.stringify(chosen));
  return { SEEKRL_CACHE: cache, SEEKRL_LIBTORCH: undefined };
}

test("a CUDA libtorch without its libraries leads to setup cuda", { skip }, async () => {
  const said = /expected libcudart\.so\.13 in .*: ENOENT.*Was it moved\?/;
  await refused(await installed(), "ERR_STATE", said, await withCuda());
});

test("a CUDA libtorch with the libraries of another CUDA leads to setup cuda", { skip }, async () => {
  const install = await installed();
  await cp(join(install.platform, "seekrl_preload.node"), runtime);
  await askFor(runtime, "libstdc++.so.6", "libcudart.so12");
  const said = /libcudart\.so12: cannot open.*NVIDIA's libraries are not those/;
  await refused(install, "ERR_STATE", said, await withCuda());
});
