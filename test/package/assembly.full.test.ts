/** What `npm run pack` puts together: manifests, the libraries of libtorch, and what it refuses. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "../project.ts";
import { builtLibtorch } from "./planted.ts";
import { writeTarball } from "./tarball.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-assembly-"));
after(() => rm(scratch, { recursive: true }));

test("the manifest of seekrl runs nothing at installation and asks for the packages that there are", async () => {
  const { shippedManifest, optionalVersions } = await importScript("scripts/pack/main-package.mjs");
  const addon = { name: "@seekrl/linux-x64", version: "0.1.0", libtorch: "2.13.0" };
  const libtorch = { name: "@seekrl/libtorch-linux-x64", version: "1.0.0", libtorch: "2.13.0" };
  const packed = {
    [addon.name]: addon,
    [libtorch.name]: libtorch,
    seekrl: { name: "seekrl", version: "0.1.0" },
  };
  const versions = optionalVersions(packed, "0.1.0");
  assert.throws(
    () => optionalVersions(packed, "0.2.0"),
    /seekrl needs @seekrl\/linux-x64 0\.2\.0, got 0\.1\.0\. Remedy/,
  );
  assert.throws(
    () => optionalVersions({ ...packed, [addon.name]: { ...addon, libtorch: "2.12.1" } }, "0.1.0"),
    /linux-x64 needs @seekrl\/libtorch-linux-x64 of libtorch 2\.12\.1, got 2\.13\.0/,
  );
  assert.deepEqual(versions, { "@seekrl/linux-x64": "0.1.0", "@seekrl/libtorch-linux-x64": "1.0.0" });
  const clone = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
  assert.ok(clone.private && clone.scripts.install, "a clone builds, and is not to be published");
  const shipped = shippedManifest(clone, versions);
  for (const key of ["scripts", "devDependencies", "private", "gypfile", "files"])
    assert.ok(!(key in shipped), key);
  assert.deepEqual(shipped.exports, clone.exports);
  assert.deepEqual(shipped.optionalDependencies, versions);
});

test("of libtorch the libraries are packed that those needed need, and no others", {
  skip: process.platform !== "linux" && "ELF is Linux's",
}, async () => {
  const { closureOf } = await importScript("scripts/pack/libtorch-package.mjs");
  const found: string[] = closureOf(join(builtLibtorch(), "lib"), ["libtorch.so"]);
  const [core, cpu, whole] = ["libc10.so", "libtorch_cpu.so", "libtorch.so"].map((name) =>
    found.indexOf(name),
  );
  assert.ok(core !== -1 && core !== undefined && cpu !== undefined && whole !== undefined);
  assert.ok(core < cpu && cpu < whole, `${found}: each after what it needs`);
  assert.ok(!found.includes("libtorch_python.so"));
});

test("one package in two versions is refused", async () => {
  const { packedManifests } = await importScript("scripts/pack/tarball.mjs");
  const out = join(scratch, "out");
  await mkdir(out);
  await writeTarball(out, { name: "@seekrl/linux-x64", version: "0.1.0" });
  assert.equal((await packedManifests(out))["@seekrl/linux-x64"].version, "0.1.0");
  await writeTarball(out, { name: "@seekrl/linux-x64", version: "0.2.0" });
  await assert.rejects(
    packedManifests(out),
    /@seekrl\/linux-x64 in versions 0\.1\.0 and 0\.2\.0\. Remedy: remove/,
  );
});

test("a tarball above its limit is refused with its size and the limit, and does not stay", async () => {
  const { pack, writeManifest } = await importScript("scripts/pack/tarball.mjs");
  const [staged, out] = [join(scratch, "large"), join(scratch, "large-out")];
  await writeManifest(staged, { name: "large", version: "0.1.0" });
  await writeFile(join(staged, "random"), randomBytes(300_000));
  await assert.rejects(
    pack(staged, out, 0.2),
    /large-0\.1\.0\.tgz: expected at most 0\.2 MB, got 0\.3 MB\. Remedy/,
  );
  assert.deepEqual(await readdir(out), []);
  await pack(staged, out, 0.4);
  assert.deepEqual(await readdir(out), ["large-0.1.0.tgz"]);
});

test("a platform that is none is refused with those that are", async () => {
  const { platformOf } = await importScript("scripts/pack/platforms.mjs");
  assert.throws(
    () => platformOf("sunos-sparc"),
    /no package is made for sunos-sparc: expected one of linux-x64/,
  );
});

test("a clone that is not built is refused", async () => {
  const { platformOf } = await importScript("scripts/pack/platforms.mjs");
  const { stagePlatform } = await importScript("scripts/pack/platform-package.mjs");
  const root = join(scratch, "clone");
  await mkdir(root);
  await writeFile(
    join(root, "package.json"),
    JSON.stringify({ version: "0.1.0", binary: { napi_versions: [8] } }),
  );
  await assert.rejects(
    stagePlatform(platformOf("linux-x64"), join(scratch, "staged"), root),
    /seekrl\.node, seekrl_preload\.node: not built\. Remedy: npm run build/,
  );
});

test("a stranger's system is refused where there is no shell or something that compiles", async () => {
  const { machineIn } = await importScript("scripts/pack/check/machine.mjs");
  const root = join(scratch, "root");
  assert.throws(() => machineIn(root, []), /root: expected the root of a system, found no shell/);
  await mkdir(join(root, "usr", "bin"), { recursive: true });
  await writeFile(join(root, "usr", "bin", "sh"), "");
  await writeFile(join(root, "usr", "bin", "python3"), "");
  assert.throws(() => machineIn(root, []), /root: expected nothing that compiles, found python3/);
});

test("a platform's package has the licences of what is compiled into it, as its own packages have them", async () => {
  const { writeTexts } = await importScript("scripts/pack/platform-package.mjs");
  const staged = join(scratch, "texts");
  const libtorch = join(scratch, "libtorch");
  await mkdir(staged);
  const about = { name: "@seekrl/linux-x64", libtorch, version: "2.13.0", kernels: "13.0" };
  await assert.rejects(
    writeTexts(staged, projectRoot, about),
    /licenses: expected the licences of libtorch .*\. Remedy: remove/,
  );
  await mkdir(join(libtorch, "licenses"), { recursive: true });
  await writeFile(join(libtorch, "licenses", "LICENSE"), "From PyTorch: as you like.\n");
  await writeTexts(staged, projectRoot, about);
  const text = await readFile(join(staged, "THIRD_PARTY.md"), "utf8");
  for (const file of ["node-addon-api/LICENSE.md", "usearch/numkong/LICENSE"])
    assert.ok(
      text.includes((await readFile(join(projectRoot, "node_modules", file), "utf8")).trimEnd()),
      file,
    );
  assert.ok(text.includes("From PyTorch: as you like."));
  assert.match(
    text,
    /^## cudart 13\.0\n\n.* libseekrl_cuda\.so and libseekrl_graphs\.so\. .* LicenseRef-NVIDIA-CUDA-EULA\.\n\nIts terms: https:\/\/docs\.nvidia\.com/m,
  );
  const notice = await readFile(join(staged, "NOTICE"), "utf8");
  const named = [...notice.matchAll(/[\w/]+\.\w+(?=\s)/g)].map(([file]) => file);
  assert.ok(named.includes("THIRD_PARTY.md"), notice);
  const there = await readdir(staged);
  assert.deepEqual(
    named.filter((file) => !there.includes(file)),
    [],
  );
  await writeTexts(staged, projectRoot, { ...about, kernels: undefined });
  assert.doesNotMatch(await readFile(join(staged, "THIRD_PARTY.md"), "utf8"), /cudart/);
});

test("Intel's library is named where it is: on Intel's processors", async () => {
  const { licenseOf, readme } = await importScript("scripts/pack/libtorch-package.mjs");
  const { platformOf } = await importScript("scripts/pack/platforms.mjs");
  for (const [name, isThere] of [
    ["linux-x64", true],
    ["linux-arm64", false],
  ] as const) {
    const platform = platformOf(name);
    assert.equal(/Intel/.test(licenseOf(platform)), isThere, name);
    assert.equal(/Intel/.test(readme(platform, { name, version: "2.13.0", libraries: [] })), isThere, name);
  }
});

test("the page of libtorch names the GCC of libgomp where the library says it", async () => {
  const { gccOf, readme } = await importScript("scripts/pack/libtorch-package.mjs");
  const { platformOf } = await importScript("scripts/pack/platforms.mjs");
  const [file, about] = [join(scratch, "libgomp.so.1"), { name: "it", version: "2.13.0", libraries: [] }];
  await writeFile(file, "\u007fELF\0GCC: (GNU) 12.2.0\0");
  assert.equal(await gccOf(file), "12.2.0");
  await writeFile(file, "\u007fELF\0running gcc 8.5.0 20210514\0");
  const page = readme(platformOf("linux-x64"), { ...about, gcc: await gccOf(file) });
  assert.match(page, /libgomp is GCC's.*\n.*\n {2}It says of itself that it was made with GCC 8\.5\.0\.\n/);
  await writeFile(file, "\u007fELF\0");
  assert.doesNotMatch(readme(platformOf("linux-x64"), { ...about, gcc: await gccOf(file) }), /made with/);
});

test("the licence of a platform's package names NVIDIA's where its kernels are in it", async () => {
  const { licenseOf } = await importScript("scripts/pack/platform-package.mjs");
  assert.equal(licenseOf("13.0"), "Apache-2.0 AND LicenseRef-NVIDIA-CUDA-EULA");
  assert.equal(licenseOf(undefined), "Apache-2.0");
});

for (const [script, file, options] of [
  ["pack", "scripts/pack.mjs", "[--out FOLDER] [PART ...]"],
  [
    "pack:check",
    "scripts/pack-check.mjs",
    "[--packed FOLDER] [--node FILE ...] [--root FOLDER] [MANAGER ...]",
  ],
  ["site", "site/build.mjs", "[--base PATH]"],
] as const) {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(projectRoot, file), ...args], { encoding: "utf8" });

  test(`${script} --help prints how it is called, and an option that is none is one sentence`, () => {
    const usage = `usage: npm run ${script} -- ${options}`;
    const help = run("--help");
    assert.deepEqual([help.status, help.stdout.split("\n")[0], help.stderr], [0, usage, ""]);
    const { status, stderr } = run("--nonsense");
    assert.deepEqual([status, stderr], [1, `seekrl: Unknown option '--nonsense'. ${usage}\n`]);
  });
}
