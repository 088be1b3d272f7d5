/** How a release is made: its changelog, the order in which packages are published, what it is made of. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-release-"));
after(() => rm(folder, { recursive: true }));

test("a version takes what is unreleased, once, and its notes are that", async () => {
  const { dated, notesOf } = await importScript("scripts/release/changelog.mjs");
  const before = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n";
  const dayed = dated(before, "0.2.0", "2026-03-04");
  assert.equal(
    dayed,
    "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n- New.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n",
  );
  assert.deepEqual([notesOf(dayed, "0.2.0"), notesOf(dayed, "0.1.0")], ["- New.", "- First."]);
  assert.throws(() => dated(dayed, "0.3.0", "2026-03-05"), /expected lines under ## Unreleased, got none/);
  assert.throws(() => dated(before, "0.1.0", "2026-03-05"), /0\.1\.0 stands there already/);
  assert.throws(() => notesOf(before, "0.1"), /expected a heading of 0\.1\./);
});

/** A tarball with a manifest, and nothing else unless given. */
async function tarball(name: string, version: string, files = {}, more = {}): Promise<string> {
  const path = join(folder, `${name.replace(/\W/g, "-")}-${version}.tgz`);
  await rm(join(folder, "package"), { recursive: true, force: true });
  const manifest = { name, version, license: "Apache-2.0", ...more };
  for (const [file, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
    await mkdir(dirname(join(folder, "package", file)), { recursive: true });
    await writeFile(join(folder, "package", file), text as string);
  }
  execFileSync("tar", ["-czf", path, "-C", folder, "package"]);
  return path;
}

/** An npm that knows one version, refuses another, and keeps what it was asked. */
const fakeNpm = `#!/bin/sh
echo "$@" >> "${join(folder, "calls")}"
case "$1 $2" in
  "view @seekrl/libtorch-linux-x64@2.13.0") echo 2.13.0 ;;
  view*) echo "npm error code E404" >&2; exit 1 ;;
  *broken*) echo "npm error code E403" >&2; exit 1 ;;
esac
`;

test("packages for platforms are published before seekrl, and what is there is left out", async () => {
  const { publishAll } = await importScript("scripts/pack/publish.mjs");
  const bin = join(folder, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "npm"), fakeNpm);
  await chmod(join(bin, "npm"), 0o755);
  const path = process.env.PATH;
  process.env.PATH = `${bin}${delimiter}${path}`;
  try {
    const main = await tarball("seekrl", "0.2.0");
    const platform = await tarball("@seekrl/linux-x64", "0.2.0");
    const libtorch = await tarball("@seekrl/libtorch-linux-x64", "2.13.0");
    await publishAll([main, platform, libtorch], { publish: ["--provenance"] });
    const published = async () =>
      (await readFile(join(folder, "calls"), "utf8"))
        .split("\n")
        .filter((call) => call.startsWith("publish"));
    const call = (file: string) => `publish ${file} --ignore-scripts --provenance`;
    assert.deepEqual(await published(), [call(platform), call(main)]);
    await rm(join(folder, "calls"));
    const next = await tarball("seekrl", "0.3.0-rc.1");
    await publishAll([next], {});
    assert.deepEqual(await published(), [`publish ${next} --ignore-scripts --tag next`]);
    const broken = await tarball("@seekrl/broken", "1.0.0");
    await rm(join(folder, "calls"));
    await assert.rejects(publishAll([main, broken], {}), /E403/);
    assert.deepEqual(await published(), [`publish ${broken} --ignore-scripts`]);
  } finally {
    process.env.PATH = path;
  }
});

interface Component {
  readonly "bom-ref": string;
  readonly purl: string;
  readonly hashes?: readonly object[];
  readonly licenses?: readonly object[];
}

test("the list of parts names packages, what is compiled in, and each tarball with its digest", async () => {
  const { writeSbom } = await importScript("scripts/pack/sbom.mjs");
  const { requirePublishable } = await importScript("scripts/release/publishable.mjs");
  const out = join(folder, "out");
  await mkdir(out);
  const libtorch = { "licenses/libgomp/GPL-3.0.txt": "", "licenses/third_party/fmt/LICENSE": "" };
  const digests: Record<string, string> = {};
  for (const [name, version, files, more] of [
    ["seekrl", "0.1.0", {}, { optionalDependencies: { "@seekrl/linux-x64": "0.2.0" } }],
    ["@seekrl/linux-x64", "0.2.0", { "stamp.json": '{"kernels":"13.0"}' }, { libtorch: "2.13.0" }],
    ["@seekrl/libtorch-linux-x64", "2.13.0", libtorch, {}],
  ] as const) {
    const bytes = await readFile(await tarball(name, version, files, { repository: {}, ...more }));
    await writeFile(join(out, `${name.replace("/", "-")}.tgz`), bytes);
    digests[name] = createHash("sha256").update(bytes).digest("hex");
  }
  await writeSbom(out, projectRoot);
  const { bomFormat, components, dependencies, metadata } = JSON.parse(
    await readFile(join(out, "sbom.cdx.json"), "utf8"),
  );
  assert.equal(bomFormat, "CycloneDX");
  const found = new Map<string, Component>(components.map((each: Component) => [each["bom-ref"], each]));
  assert.equal(found.size, components.length, "each once");
  const own = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
  const { packages } = JSON.parse(await readFile(join(projectRoot, "package-lock.json"), "utf8"));
  for (const name of [...Object.keys(own.dependencies), "preact", "uplot", "node-addon-api"])
    assert.ok(
      (found.get(`${name}@${packages[`node_modules/${name}`].version}`)?.licenses?.length ?? 0) > 0,
      name,
    );
  assert.ok(!components.some(({ purl }: Component) => /usearch|\/seekrl@/.test(purl)));
  const modules = join(projectRoot, "node_modules", "usearch", "numkong", "package.json");
  const numkong = `numkong@${JSON.parse(await readFile(modules, "utf8")).version}`;
  assert.deepEqual(found.get(numkong)?.licenses, [{ license: { id: "Apache-2.0" } }]);
  const sha256 = (name: string) => [{ alg: "SHA-256", content: digests[name] }];
  assert.deepEqual(found.get("@seekrl/linux-x64@0.2.0")?.hashes, sha256("@seekrl/linux-x64"));
  assert.deepEqual([metadata.component.name, metadata.component.hashes], ["seekrl", sha256("seekrl")]);
  assert.doesNotMatch(JSON.stringify(metadata.component), /private/);
  const needs = new Map<string, string[]>(
    dependencies.map(({ ref, dependsOn }: { ref: string; dependsOn: string[] }) => [ref, dependsOn]),
  );
  assert.ok(needs.get(metadata.component["bom-ref"])?.includes("@seekrl/linux-x64@0.2.0"));
  const addonParts = [
    `node-addon-api@${packages["node_modules/node-addon-api"].version}`,
    numkong,
    "cudart@13.0",
  ];
  assert.deepEqual(needs.get("@seekrl/linux-x64@0.2.0"), [
    ...addonParts,
    "@seekrl/libtorch-linux-x64@2.13.0",
  ]);
  assert.deepEqual(needs.get("@seekrl/libtorch-linux-x64@2.13.0")?.sort(), ["fmt", "libgomp"]);
  for (const each of [...needs.values()].flat()) assert.ok(found.has(each), each);
  await requirePublishable(out);
  await writeFile(join(out, "seekrl.tgz"), await readFile(join(out, "@seekrl-linux-x64.tgz")));
  await writeFile(
    join(out, "@seekrl-linux-x64.tgz"),
    await readFile(await tarball("@seekrl/linux-x64", "0.2.0", {}, { repository: {} })),
  );
  await assert.rejects(
    requirePublishable(out),
    /linux-x64\.tgz: sbom\.cdx\.json lists it with SHA-256 \w+, got \w+\. Remedy/,
  );
});

test("a part that is packed again takes the list of parts with it", async () => {
  const { pack, writeManifest } = await importScript("scripts/pack/tarball.mjs");
  const out = join(folder, "stale");
  await mkdir(out);
  await writeFile(join(out, "sbom.cdx.json"), "{}");
  await writeManifest(join(folder, "staged"), { name: "seekrl", version: "0.1.0" });
  await pack(join(folder, "staged"), out);
  assert.deepEqual(await readdir(out), ["seekrl-0.1.0.tgz"]);
});

test("a manifest names the repository that the workflow runs in, and without one nothing is published", async () => {
  const { writeManifest } = await importScript("scripts/pack/tarball.mjs");
  const { requirePublishable } = await importScript("scripts/release/publishable.mjs");
  const before = process.env.GITHUB_REPOSITORY;
  const staged = async (name?: string) => {
    if (name === undefined) delete process.env.GITHUB_REPOSITORY;
    else process.env.GITHUB_REPOSITORY = name;
    const out = await mkdtemp(join(folder, "manifest-"));
    await writeManifest(join(out, "package"), { name: "@seekrl/linux-x64", version: "0.2.0" });
    execFileSync("tar", ["-czf", join(out, "it.tgz"), "-C", out, "package"]);
    return { out, manifest: JSON.parse(await readFile(join(out, "package", "package.json"), "utf8")) };
  };
  try {
    const named = await staged("acme/seekrl");
    assert.deepEqual(named.manifest.repository, {
      type: "git",
      url: "git+https://github.com/acme/seekrl.git",
    });
    assert.equal(named.manifest.bugs.url, "https://github.com/acme/seekrl/issues");
    assert.equal(named.manifest.homepage, "https://github.com/acme/seekrl#readme");
    await assert.rejects(requirePublishable(named.out), /no sbom\.cdx\.json\. Remedy: npm run pack -- sbom/);
    const unnamed = await staged();
    for (const key of ["repository", "bugs", "homepage"]) assert.ok(!(key in unnamed.manifest), key);
    await assert.rejects(
      requirePublishable(unnamed.out),
      /it\.tgz: expected a repository .*, got none\. Remedy/,
    );
  } finally {
    if (before === undefined) delete process.env.GITHUB_REPOSITORY;
    else process.env.GITHUB_REPOSITORY = before;
  }
});

test("a version that the changelog refuses is refused before npm changes a file", async () => {
  const clone = join(folder, "clone");
  const { scripts } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
  const { preversion, version } = scripts;
  const manifest = { name: "seekrl", version: "0.1.0", private: true, scripts: { preversion, version } };
  for (const part of ["scripts/release/changelog.mjs", "scripts/setup/report.mjs"])
    await cp(join(projectRoot, part), join(clone, part));
  await writeFile(join(clone, "package.json"), JSON.stringify(manifest));
  await writeFile(
    join(clone, "CHANGELOG.md"),
    "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-02)\n\n- New.\n",
  );
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], {
      cwd: clone,
      encoding: "utf8",
    });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "all");
  const { status, stderr } = spawnSync("npm", ["version", "0.2.0"], { cwd: clone, encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, /CHANGELOG\.md: expected lines under ## Unreleased, got none/);
  assert.equal(git("status", "--porcelain"), "");
});

test("publishing outside of the release workflow is refused before npm is called", async () => {
  const packed = await mkdtemp(join(tmpdir(), "seekrl-publish-"));
  try {
    await writeFile(join(packed, "seekrl-0.1.0.tgz"), "");
    const npm = join(packed, "npm");
    await writeFile(npm, `#!/bin/sh\necho called >> ${join(packed, "calls")}\n`, { mode: 0o755 });
    const { ACTIONS_ID_TOKEN_REQUEST_URL: _, ...env } = process.env;
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(projectRoot, "scripts", "release", "publish.mjs"), packed],
      { encoding: "utf8", env: { ...env, PATH: packed } },
    );
    assert.equal(status, 1);
    assert.match(stderr, /expected the release workflow and its token\. Remedy: push a tag/);
    assert.equal(existsSync(join(packed, "calls")), false);
  } finally {
    await rm(packed, { recursive: true });
  }
});
