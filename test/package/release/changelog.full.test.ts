/** The changelog of a release: what a version takes, and what it refuses. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "../../project.ts";

const { dated, notesOf } = (await importScript("scripts/release/changelog.mjs")) as {
  dated(text: string, version: string, day: string): string;
  notesOf(text: string, version: string): string;
};

const before = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n";
const dayed =
  "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-03-04)\n\n- New.\n\n## 0.1.0 (2026-01-02)\n\n- First.\n";

test("a version takes what is unreleased, once", () => {
  assert.equal(dated(before, "0.2.0", "2026-03-04"), dayed);
  assert.throws(() => dated(dayed, "0.3.0", "2026-03-05"), /expected lines under ## Unreleased, got none/);
  assert.throws(() => dated(before, "0.1.0", "2026-03-05"), /0\.1\.0 stands there already/);
});

test("the notes of a version are what it took", () => {
  assert.deepEqual([notesOf(dayed, "0.2.0"), notesOf(dayed, "0.1.0")], ["- New.", "- First."]);
  assert.throws(() => notesOf(before, "0.1"), /expected a heading of 0\.1\./);
});

test("a prerelease has the notes of what is unreleased, and leaves them for its version", () => {
  assert.equal(dated(before, "0.2.0-rc.1", "2026-03-04"), before);
  assert.equal(notesOf(before, "0.2.0-rc.1"), "- New.");
  assert.throws(() => dated(dayed, "0.3.0-rc.1", "2026-03-05"), /expected lines under ## Unreleased/);
});

/** A clone at 0.1.0 with that changelog, its `git` and its `npm version`. */
async function makeClone(changelog: string) {
  const clone = await mkdtemp(join(tmpdir(), "seekrl-changelog-"));
  after(() => rm(clone, { recursive: true }));
  const { scripts } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8"));
  const { preversion, version } = scripts;
  const manifest = { name: "seekrl", version: "0.1.0", private: true, scripts: { preversion, version } };
  for (const part of ["scripts/release/changelog.mjs", "scripts/setup/report.mjs"])
    await cp(join(projectRoot, part), join(clone, part));
  await writeFile(join(clone, "package.json"), JSON.stringify(manifest));
  await writeFile(join(clone, "CHANGELOG.md"), changelog);
  const git = (...args: string[]): string => execFileSync("git", args, { cwd: clone, encoding: "utf8" });
  git("init", "-q");
  git("config", "user.name", "a");
  git("config", "user.email", "a@b.c");
  git("add", ".");
  git("commit", "-qm", "all");
  const npmVersion = (...args: string[]) =>
    spawnSync("npm", ["version", ...args], { cwd: clone, encoding: "utf8" });
  return { git, npmVersion };
}

test("a version that the changelog refuses is refused before npm changes a file", async () => {
  const { git, npmVersion } = await makeClone(
    "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-01-02)\n\n- New.\n",
  );
  const { status, stderr } = npmVersion("0.2.0");
  assert.equal(status, 1);
  assert.match(stderr, /CHANGELOG\.md: expected lines under ## Unreleased, got none/);
  assert.equal(git("status", "--porcelain"), "");
});

test("the first release is of the version that package.json has, and one may follow its prerelease", async () => {
  const { git, npmVersion } = await makeClone("# Changelog\n\n## Unreleased\n\n- All.\n");
  for (const version of ["0.1.0-rc.1", "0.1.0"]) {
    const { status, stderr } = npmVersion(version);
    assert.equal(status, 0, stderr);
  }
  assert.match(git("show", "v0.1.0:CHANGELOG.md"), /## Unreleased\n\n## 0\.1\.0 \(.*\)\n\n- All\.\n$/);
  const first = await makeClone("# Changelog\n\n## Unreleased\n\n- All.\n");
  const { status, stderr } = first.npmVersion("0.1.0", "--allow-same-version");
  assert.equal(status, 0, stderr);
  assert.match(first.git("show", "v0.1.0:CHANGELOG.md"), /## 0\.1\.0 \(.*\)\n\n- All\.\n$/);
  assert.equal(first.git("status", "--porcelain"), "");
});
