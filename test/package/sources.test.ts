/** A clone's addon that is older than its sources is one error, which names the command that builds it. */
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findAddon } from "../../lib/base/packages/find-addon.ts";
import { sourcesDigest } from "../../lib/base/packages/sources.ts";
import { importScript, projectRoot } from "../project.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-sources-"));
after(() => rm(scratch, { recursive: true }));

const source = join("native", "node", "addon.cpp");
const release = join("build", "cmake", "Release");
const before = new Date(Date.now() - 10_000);
const later = new Date(Date.now() + 10_000);

/** A clone of one source, built, its files older than its addon. */
async function clone(name: string): Promise<string> {
  const root = join(scratch, name);
  for (const folder of [join("native", "node"), release])
    await mkdir(join(root, folder), { recursive: true });
  const files = ["tsconfig.json", "CMakeLists.txt", source];
  for (const file of files) await writeFile(join(root, file), file);
  for (const file of files) await utimes(join(root, file), before, before);
  for (const file of ["seekrl.node", "seekrl_preload.node"]) await writeFile(join(root, release, file), file);
  const built = { folder: "/libtorch", needed: [], sources: sourcesDigest(root) };
  await writeFile(join(root, "build", "libtorch.json"), JSON.stringify(built));
  return root;
}

async function change(root: string, file: string, text: string): Promise<void> {
  await writeFile(join(root, file), text);
  await utimes(join(root, file), later, later);
}

test("an addon that was built of these sources is found", async () => {
  const root = await clone("whole");
  const libtorch = { folder: "/libtorch", needed: [] };
  assert.deepEqual(findAddon(root), { folder: join(root, release), libtorch, package: undefined });
});

const stale = (root: string) => ({
  code: "ERR_STATE",
  message: new RegExp(`${join(root, release, "seekrl.node")} is older than the sources.*npm run build`),
});

test("an addon beside a source that changed, came or went since is refused until it is built", async () => {
  for (const [name, file, text] of [
    ["changed", source, "other"],
    ["came", join("native", "node", "values.h"), "values"],
    ["definitions", "CMakeLists.txt", "other"],
  ] as const) {
    const root = await clone(name);
    await change(root, file, text);
    assert.throws(() => findAddon(root), stale(root), name);
  }
  const root = await clone("went");
  await rm(join(root, source));
  await utimes(join(root, "native", "node"), later, later);
  assert.throws(() => findAddon(root), stale(root));
});

test("a source that is written again as it was, and a file that is no source, change nothing", async () => {
  const root = await clone("same");
  await change(root, source, source);
  await change(root, join("native", "notes.swp"), "an editor's");
  assert.equal(findAddon(root).folder, join(root, release));
});

test("the set-up keeps the digest that loading compares", async () => {
  const { sourcesDigest: kept } = await importScript("scripts/setup/digest.mjs");
  const root = await clone("digest");
  await cp(join(projectRoot, "native", "node"), join(root, "native", "node"), { recursive: true });
  assert.equal(await kept(root), sourcesDigest(root));
});
