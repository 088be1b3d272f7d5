/** Installations that are not as npm made them: each is one error that says what is wrong and what to do. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findAddon } from "../../../lib/base/packages/find-addon.ts";
import type { Host } from "../../../lib/base/packages/host.ts";
import { plant, version } from "../planted.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-installs-"));
after(() => rm(scratch, { recursive: true }));

const linux: Host = { platform: "linux", arch: "x64", napi: 9, glibc: () => "2.36" };
const platform = "@seekrl/linux-x64";
const libtorch = "@seekrl/libtorch-linux-x64";
const held = { libtorch: "2.13.0" };
const built = { napi: 8, ...held };
const addon = { "seekrl.node": "engine", "seekrl_preload.node": "preload" };
const libraries = { "lib/libc10.so": "c10", "lib/libtorch_cpu.so": "cpu" };

let count = 0;

/** A project's `node_modules` with seekrl and, unless left out, both packages; nothing in the cache. */
async function install({ packages = [platform, libtorch] } = {}) {
  const home = join(scratch, `${count++}`);
  const modules = join(home, "node_modules");
  const root = join(modules, "seekrl");
  await mkdir(root, { recursive: true });
  const optionalDependencies = { [platform]: version, "@seekrl/darwin-arm64": version, [libtorch]: "1.0.0" };
  await writeFile(join(root, "package.json"), JSON.stringify({ version, optionalDependencies }));
  if (packages.includes(platform)) await plant(modules, platform, addon, built);
  if (packages.includes(libtorch)) await plant(modules, libtorch, libraries, { ...held, version: "1.0.0" });
  const env: NodeJS.ProcessEnv = { SEEKRL_CACHE: join(home, "cache") };
  const at = (name: string, file = "") => join(modules, name, file);
  const find = (host: Host = linux) => findAddon(root, host, env);
  return { modules, env, cache: join(home, "cache"), at, find };
}

/** A folder of libtorch with headers that state a version. */
async function libtorchFolder(folder: string, stated: string): Promise<string> {
  const [major, minor, patch] = stated.split(".");
  await mkdir(join(folder, "include", "torch"), { recursive: true });
  await mkdir(join(folder, "lib"));
  const lines = [
    `#define TORCH_VERSION_MAJOR ${major}`,
    `#define TORCH_VERSION_MINOR ${minor}`,
    `#define TORCH_VERSION_PATCH ${patch}`,
  ];
  await writeFile(join(folder, "include", "torch", "version.h"), lines.join("\n"));
  return folder;
}

test("addon and libtorch come out of the packages beside seekrl", async () => {
  const { find, at } = await install();
  const found = find();
  assert.equal(found.folder, at(platform));
  assert.equal(found.libtorch.folder, at(libtorch));
  assert.deepEqual(found.package?.stamp.version, version);
});

const state = (message: RegExp) => ({ name: "SeekError", code: "ERR_STATE", message });

test("a platform without a package is told which have one", async () => {
  const { find } = await install({ packages: [] });
  assert.throws(
    () => find({ ...linux, platform: "freebsd" }),
    state(/no addon for freebsd-x64: expected linux-x64, darwin-arm64\. Remedy: run it on one of these/),
  );
});

test("macOS and Windows without a package are told what runs Linux's there", async () => {
  const { find } = await install({ packages: [] });
  const darwin = { ...linux, platform: "darwin", glibc: () => undefined };
  assert.throws(
    () => find(darwin),
    state(
      /no addon for darwin-x64: expected .*\. Remedy: install it in a Linux container of Docker \(docker run -it node/,
    ),
  );
  // Of linux-arm64, which a container there would have, this release has no package.
  assert.throws(
    () => find({ ...darwin, arch: "riscv64" }),
    state(/no addon for darwin-riscv64: .*\(docker run -it --platform linux\/amd64 node/),
  );
  assert.throws(
    () => find({ ...darwin, platform: "win32" }),
    state(/no addon for win32-x64: expected .*\. Remedy: install it in WSL 2 \(wsl --install\)\.$/),
  );
});

test("musl is told what has glibc", async () => {
  const { find } = await install({ packages: [] });
  assert.throws(
    () => find({ ...linux, glibc: () => undefined }),
    state(/linux-x64 with musl.*: expected glibc 2\.28 or later\. Remedy: use an image of Debian/),
  );
});

test("a glibc of an unknown version is not refused", async () => {
  const { find, at } = await install();
  assert.equal(find({ ...linux, glibc: () => "unknown" }).folder, at(platform));
});

test("a package that was left out is missed by name", async () => {
  const { find } = await install({ packages: [] });
  const message =
    /@seekrl\/linux-x64 is not installed: optional dependencies.*Remedy: .*npm install --include=optional\)/;
  assert.throws(() => find(), { code: "ERR_STATE", message });
});

test("a package of another platform is named", async () => {
  const { find, modules } = await install({ packages: [] });
  await plant(modules, "@seekrl/darwin-arm64", addon, built);
  assert.throws(() => find(), {
    code: "ERR_STATE",
    message: /node_modules has @seekrl\/darwin-arm64, so it was installed on another platform\. Remedy/,
  });
});

test("parts of two versions are refused with both", async () => {
  const { find, modules, at } = await install();
  await plant(modules, platform, addon, { ...built, version: "0.0.9" });
  assert.throws(() => find(), {
    code: "ERR_STATE",
    message: new RegExp(
      `seekrl is ${version} \\(.*\\), ${platform} is 0\\.0\\.9 \\(${at(platform)}\\).*Remedy: npm install`,
    ),
  });
  await plant(modules, platform, addon, { ...built, napi: 12 });
  assert.throws(() => find(), {
    code: "ERR_STATE",
    message: /built for Node-API 12, this Node has 9\. Remedy/,
  });
  await plant(modules, platform, addon, { ...built, libtorch: "2.12.1" });
  assert.throws(() => find(), {
    code: "ERR_STATE",
    message: /built for libtorch 2\.12\.1, @seekrl\/libtorch-linux-x64 .* is 2\.13\.0\. Remedy/,
  });
});

test("a file that is missing, cut short or changed is named", async () => {
  const { find, modules, at } = await install();
  const damaged = (message: RegExp) => assert.throws(() => find(), { code: "ERR_FORMAT", message });
  await truncate(at(platform, "seekrl.node"), 3);
  damaged(/seekrl\.node: expected 6 bytes, got 3\. Remedy: remove node_modules/);
  await writeFile(at(platform, "seekrl.node"), "Engine");
  damaged(/seekrl\.node: expected the sha256 [0-9a-f]{64}, got [0-9a-f]{64}\. Remedy/);
  await rm(at(platform, "seekrl.node"));
  damaged(/seekrl\.node is missing in/);
  await plant(modules, platform, addon, built);
  await truncate(at(libtorch, "lib/libtorch_cpu.so"), 1);
  damaged(/libtorch-linux-x64 is damaged: .*libtorch_cpu\.so: expected 3 bytes, got 1/);
  await writeFile(at(platform, "stamp.json"), "{");
  damaged(/linux-x64 is damaged: stamp\.json in .* cannot be read\. Remedy/);
  await writeFile(at(platform, "stamp.json"), "{}");
  damaged(/stamp\.json in .* names no version and no files/);
});

test("a libtorch that is named is used or refused, never passed over", async () => {
  const { find, env, modules } = await install();
  const refused = (folder: string, message: RegExp) => {
    env.SEEKRL_LIBTORCH = folder;
    assert.throws(() => find(), { code: "ERR_STATE", message });
  };
  refused(
    join(modules, "nowhere"),
    /SEEKRL_LIBTORCH: .*nowhere: expected a folder with lib and include\. Remedy/,
  );
  refused(
    await libtorchFolder(join(modules, "old"), "2.12.0"),
    /built for libtorch 2\.13\.0, .* is 2\.12\.0\. Remedy/,
  );
  await mkdir(join(modules, "bare", "lib"), { recursive: true });
  refused(join(modules, "bare"), /is of an unknown version\. Remedy/);
  env.SEEKRL_LIBTORCH = await libtorchFolder(join(modules, "own"), "2.13.0");
  assert.equal(find().libtorch.folder, join(modules, "own"));
});

test("an empty SEEKRL_LIBTORCH names nothing", async () => {
  const { find, env, at } = await install();
  env.SEEKRL_LIBTORCH = "";
  assert.equal(find().libtorch.folder, at(libtorch));
});

test("what setup cuda chose comes before the package", async () => {
  const { find, cache } = await install();
  const folder = await libtorchFolder(join(cache, "libtorch-2.13.0-cu130", "torch"), "2.13.0");
  const chosen = { folder, needed: ["/nvidia/libcudart.so.13"] };
  await writeFile(join(cache, "libtorch.json"), JSON.stringify(chosen));
  assert.deepEqual(find().libtorch, chosen);
});

test("what setup cuda chose for another version of the addon is refused", async () => {
  const { find, cache } = await install();
  const folder = await libtorchFolder(join(cache, "old"), "2.12.0");
  await writeFile(join(cache, "libtorch.json"), JSON.stringify({ folder }));
  assert.throws(() => find(), {
    code: "ERR_STATE",
    message: /is 2\.12\.0\. Remedy: npx seekrl setup cuda, or remove/,
  });
});

test("without the package of libtorch the set-up's own is taken", async () => {
  const { find, cache } = await install({ packages: [platform] });
  await mkdir(join(cache, "libtorch-2.13.0-cpu"), { recursive: true });
  assert.equal(find().libtorch.folder, join(cache, "libtorch-2.13.0-cpu"));
});

test("where there is no libtorch the error names all places", async () => {
  const { find } = await install({ packages: [platform] });
  assert.throws(() => find(), {
    code: "ERR_STATE",
    message:
      /libtorch 2\.13\.0 was not found: @seekrl\/libtorch-linux-x64 is not installed.*Remedy: .*SEEKRL_LIBTORCH/,
  });
});
