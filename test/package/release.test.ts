/** How a release is made: its changelog, the order in which packages are published, what it is made of, the workflows. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { projectRoot } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-release-"));
after(() => rm(folder, { recursive: true }));

const load = (name: string) => import(pathToFileURL(join(projectRoot, "scripts", name)).href);

test("a version takes what is unreleased, once, and its notes are that", async () => {
  const { dated, notesOf } = await load("release/changelog.mjs");
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

/** A tarball with a manifest and nothing else. */
async function tarball(name: string, version: string): Promise<string> {
  const path = join(folder, `${name.replace(/\W/g, "-")}-${version}.tgz`);
  await mkdir(join(folder, "package"), { recursive: true });
  const manifest = { name, version, license: "Apache-2.0" };
  await writeFile(join(folder, "package", "package.json"), JSON.stringify(manifest));
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
  const { publishAll } = await load("pack/publish.mjs");
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
    const broken = await tarball("@seekrl/broken", "1.0.0");
    await rm(join(folder, "calls"));
    await assert.rejects(publishAll([main, broken], {}), /E403/);
    assert.deepEqual(await published(), [`publish ${broken} --ignore-scripts`]);
  } finally {
    process.env.PATH = path;
  }
});

test("the list of parts names packages, what is compiled in, and each tarball with its digest", async () => {
  const { writeSbom } = await load("pack/sbom.mjs");
  const out = join(folder, "out");
  await mkdir(out);
  const file = await tarball("@seekrl/linux-x64", "0.2.0");
  const bytes = await readFile(file);
  await writeFile(join(out, "linux.tgz"), bytes);
  await writeSbom(out, projectRoot);
  const { bomFormat, components } = JSON.parse(await readFile(join(out, "sbom.cdx.json"), "utf8"));
  assert.equal(bomFormat, "CycloneDX");
  const purls = new Map<string, { hashes?: object[]; licenses?: object[] }>(
    components.map((each: { purl: string }) => [each.purl, each]),
  );
  const { dependencies } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
  const { packages } = JSON.parse(await readFile(join(projectRoot, "package-lock.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "preact", "uplot"]) {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${packages[`node_modules/${name}`].version}`;
    assert.ok((purls.get(purl)?.licenses?.length ?? 0) > 0, purl);
  }
  const digest = createHash("sha256").update(bytes).digest("hex");
  assert.deepEqual(purls.get("pkg:npm/%40seekrl/linux-x64@0.2.0")?.hashes, [
    { alg: "SHA-256", content: digest },
  ]);
});

for (const name of ["check.yml", "release.yml"]) {
  test(`every command of ${name} is one that the project has`, async () => {
    const { scripts } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
    const text = await readFile(join(projectRoot, ".github", "workflows", name), "utf8");
    const { jobs } = parse(text) as { jobs: Record<string, { needs?: string; steps: { run?: string }[] }> };
    for (const { needs } of Object.values(jobs)) assert.ok(needs === undefined || needs in jobs, needs);
    const lines = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    const all = lines.join("\n");
    for (const [, script = ""] of all.matchAll(/npm run ([\w:]+)/g)) assert.ok(script in scripts, script);
    const files = [...all.matchAll(/(?:node |^)((?:scripts|\.ci)\/[\w/.-]+)/gm)].map(([, file = ""]) => file);
    for (const file of files) assert.ok(existsSync(join(projectRoot, file)), file);
    assert.ok(files.length > 0);
  });
}

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
