/** How packages are published: from where, in which order, and what is refused before npm is called. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "../../project.ts";
import { writeTarball } from "../tarball.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-publish-"));
after(() => rm(folder, { recursive: true }));

const { publishAll } = (await importScript("scripts/pack/publish.mjs")) as {
  publishAll(paths: readonly string[], options: { readonly publish?: readonly string[] }): Promise<void>;
};

/** An npm that knows the bytes of one version, refuses another, and keeps what it was asked. */
const fakeNpm = `#!/bin/sh
echo "$@" >> "\${0%/*}/calls"
case "$1 $2 $3" in
  "view @seekrl/libtorch-linux-x64@1.0.0 dist.integrity") cat "\${0%/*}/integrity" ;;
  view*) echo "npm error code E404" >&2; exit 1 ;;
  *broken*) echo "npm error code E403" >&2; exit 1 ;;
esac
`;

/** Runs with an npm of its own in the path, which has a libtorch of some bytes, and gives the calls of it that publish. */
async function publishedBy(run: () => Promise<void>, integrity = ""): Promise<string[]> {
  const bin = await mkdtemp(join(folder, "bin-"));
  await writeFile(join(bin, "integrity"), integrity);
  await writeFile(join(bin, "npm"), fakeNpm, { mode: 0o755 });
  const path = process.env.PATH;
  process.env.PATH = `${bin}${delimiter}${path}`;
  try {
    await run();
  } finally {
    process.env.PATH = path;
  }
  const calls = (await readFile(join(bin, "calls"), "utf8")).split("\n");
  return calls.filter((call) => call.startsWith("publish"));
}

test("packages for platforms are published before seekrl, and what is there is left out", async () => {
  const main = await writeTarball(folder, { name: "seekrl", version: "0.2.0" });
  const platform = await writeTarball(folder, { name: "@seekrl/linux-x64", version: "0.2.0" });
  const libtorch = await writeTarball(folder, { name: "@seekrl/libtorch-linux-x64", version: "1.0.0" });
  const options = { publish: ["--provenance"] };
  const integrity = `sha512-${createHash("sha512")
    .update(await readFile(libtorch))
    .digest("base64")}\n`;
  const published = await publishedBy(() => publishAll([main, platform, libtorch], options), integrity);
  const call = (file: string) => `publish ${file} --ignore-scripts --provenance`;
  assert.deepEqual(published, [call(platform), call(main)]);
});

test("of packages one of which is there with other bytes none is published", async () => {
  const platform = await writeTarball(folder, { name: "@seekrl/linux-x64", version: "0.2.0" });
  const libtorch = await writeTarball(folder, { name: "@seekrl/libtorch-linux-x64", version: "1.0.0" });
  const publishing = () =>
    assert.rejects(
      publishAll([platform, libtorch], {}),
      /libtorch-linux-x64@1\.0\.0: npm has sha512-other, .*-1\.0\.0\.tgz is sha512-\S{88}, .* Remedy: another version/,
    );
  assert.deepEqual(await publishedBy(publishing, "sha512-other"), []);
});

test("a version with a hyphen is published under the tag next", async () => {
  const next = await writeTarball(folder, { name: "seekrl", version: "0.3.0-rc.1" });
  const published = await publishedBy(() => publishAll([next], {}));
  assert.deepEqual(published, [`publish ${next} --ignore-scripts --tag next`]);
});

test("after a package that npm refuses none is published", async () => {
  const main = await writeTarball(folder, { name: "seekrl", version: "0.2.0" });
  const broken = await writeTarball(folder, { name: "@seekrl/broken", version: "1.0.0" });
  const published = await publishedBy(() => assert.rejects(publishAll([main, broken], {}), /E403/));
  assert.deepEqual(published, [`publish ${broken} --ignore-scripts`]);
});

const { writeManifest } = (await importScript("scripts/pack/tarball.mjs")) as {
  writeManifest(folder: string, manifest: object): Promise<void>;
};
const { requirePublishable } = (await importScript("scripts/release/publishable.mjs")) as {
  requirePublishable(folder: string): Promise<void>;
};

/** A package made in a workflow of that repository, or in none: its manifest, and the folder of its tarball. */
async function madeIn(repository: string | undefined) {
  const before = process.env.GITHUB_REPOSITORY;
  const out = await mkdtemp(join(folder, "manifest-"));
  const set = (name: string | undefined): void => {
    if (name === undefined) delete process.env.GITHUB_REPOSITORY;
    else process.env.GITHUB_REPOSITORY = name;
  };
  set(repository);
  try {
    await writeManifest(join(out, "package"), { name: "@seekrl/linux-x64", version: "0.2.0" });
  } finally {
    set(before);
  }
  execFileSync("tar", ["-czf", join(out, "it.tgz"), "-C", out, "package"]);
  return { out, manifest: JSON.parse(await readFile(join(out, "package", "package.json"), "utf8")) };
}

test("a manifest names the repository that the workflow runs in", async () => {
  const { manifest } = await madeIn("acme/seekrl");
  assert.deepEqual(manifest.repository, { type: "git", url: "git+https://github.com/acme/seekrl.git" });
  assert.equal(manifest.bugs.url, "https://github.com/acme/seekrl/issues");
  assert.equal(manifest.homepage, "https://github.com/acme/seekrl#readme");
});

test("a package without a repository is not published", async () => {
  const { out, manifest } = await madeIn(undefined);
  for (const key of ["repository", "bugs", "homepage"]) assert.ok(!(key in manifest), key);
  await assert.rejects(requirePublishable(out), /it\.tgz: expected a repository .*, got none\. Remedy/);
});

test("a package whose page says that it is not on npm is not published", async () => {
  const out = await mkdtemp(join(folder, "pages-"));
  const page = "# Packages\n\nSizes are those of a dry run. None is on\nnpm yet.\n";
  await writeTarball(
    out,
    { name: "seekrl", version: "0.1.0", repository: {} },
    { "docs/packaging.md": page },
  );
  await assert.rejects(
    requirePublishable(out),
    /seekrl-0\.1\.0\.tgz: docs\/packaging\.md:3 says "Sizes .* None is on"\. Remedy: say where it is/,
  );
});

test("a package without a list of parts beside it is not published", async () => {
  const { out } = await madeIn("acme/seekrl");
  await assert.rejects(requirePublishable(out), /no sbom\.cdx\.json\. Remedy: npm run pack -- sbom/);
});

test("publishing outside of the release workflow is refused before npm is called", async () => {
  const packed = await mkdtemp(join(folder, "packed-"));
  await writeFile(join(packed, "seekrl-0.1.0.tgz"), "");
  await writeFile(join(packed, "npm"), fakeNpm, { mode: 0o755 });
  const { ACTIONS_ID_TOKEN_REQUEST_URL: _, ...env } = process.env;
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(projectRoot, "scripts", "release", "publish.mjs"), packed],
    { encoding: "utf8", env: { ...env, PATH: packed } },
  );
  assert.equal(status, 1);
  assert.match(stderr, /expected the release workflow and its token\. Remedy: push a tag/);
  assert.equal(existsSync(join(packed, "calls")), false);
});
