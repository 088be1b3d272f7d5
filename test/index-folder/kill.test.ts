/** kill -9 at any moment of a change leaves a folder that opens, or says that its build can be resumed. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../lib/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../lib/index-folder/change/edit.ts";
import { mergeIndexes } from "../../lib/index-folder/change/merge.ts";
import { indexInfo } from "../../lib/index-folder/info.ts";
import { openIndex } from "../../lib/index-folder/open.ts";
import { killedPassages, type Moment, runAndKill } from "./killed.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-kill-"));
after(() => rm(root, { recursive: true }));
const { first, second } = killedPassages();
const whole = join(root, "whole");
await buildIndex({ corpus: first, out: whole });

/** Files of an index that the clock and the machine have no part in. */
async function contentOf(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.bin$|^manifest/.test(name));
  const texts = names
    .sort()
    .map(async (name) => [name, (await readFile(join(folder, name))).toString("latin1")] as const);
  return new Map(await Promise.all(texts));
}

async function sizeOf(folder: string): Promise<number> {
  const { passages, problems } = await indexInfo(folder, { verify: "all" });
  assert.deepEqual(problems, []);
  return passages;
}

const delays = [0, 25, 70];

async function afterEach(
  moments: readonly Moment[],
  operation: string,
  use: (folder: string, at: string) => Promise<void>,
): Promise<void> {
  let numKilled = 0;
  for (const moment of moments) {
    const folder = join(root, `${operation}-${moment}`);
    if (operation !== "build") await cp(whole, folder, { recursive: true });
    if (await runAndKill(operation, folder, moment)) numKilled += 1;
    await use(folder, `${operation} killed at ${moment}`);
    await rm(folder, { recursive: true });
  }
  assert.ok(numKilled > 0, "some were killed before their end");
}

test("a killed build is no index yet and can be resumed, with the same bytes as one that was not killed", async () => {
  const expected = await contentOf(whole);
  await afterEach(["passages", "embedder", "bm25", "vectors", ...delays], "build", async (folder, at) => {
    const opened = await openIndex(folder).catch((error: Error) => error);
    if (opened instanceof Error) assert.match(opened.message, /no index/, at);
    else opened.close();
    await buildIndex({ corpus: first, out: folder, resume: true });
    assert.deepEqual(await contentOf(folder), expected, at);
  });
});

test("a killed addition leaves the index as it was, and can be done again", async () => {
  await afterEach(["passages", "bm25", "vectors", ...delays], "add", async (folder, at) => {
    const size = await sizeOf(folder);
    assert.ok(size === first.length || size === first.length + second.length, at);
    if (size === first.length) await addToIndex(folder, second);
    const search = await openIndex(folder);
    const [[hit] = []] = await search([second[3]?.title ?? ""], { topK: 1 });
    search.close();
    assert.equal(hit?.id, second[3]?.id, at);
    assert.deepEqual(await readdir(join(folder, "segments")), ["1", "2"], at);
  });
});

test("a killed merge leaves the segments as they were, and can be done again", async () => {
  await afterEach(["passages", "bm25", "graph", ...delays], "merge", async (folder, at) => {
    assert.equal(await sizeOf(folder), first.length, at);
    await mergeIndexes([folder], folder);
    assert.equal(await sizeOf(folder), first.length, at);
    assert.equal((await readdir(join(folder, "segments"))).length, 1, at);
  });
});

test("a killed removal removes all or nothing", async () => {
  await afterEach(delays, "remove", async (folder, at) => {
    assert.ok([0, first.length].includes(await sizeOf(folder)), at);
    await removeFromIndex(
      folder,
      first.map(({ id }) => id),
    );
    assert.equal(await sizeOf(folder), 0, at);
  });
});
