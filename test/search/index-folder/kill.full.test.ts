/** kill -9 at any moment of a build, an addition or a merge leaves a folder that opens, or says that its build can be resumed. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { afterEach, delays, first, manyDelays, second, sizeOf, whole } from "./kill-moments.ts";

/** Files of an index that the clock and the machine have no part in. */
async function contentOf(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.bin$|^manifest/.test(name));
  const texts = names
    .sort()
    .map(async (name) => [name, (await readFile(join(folder, name))).toString("latin1")] as const);
  return new Map(await Promise.all(texts));
}

test("a killed build is no index yet and can be resumed, with the same bytes as one that was not killed", async () => {
  const expected = await contentOf(whole);
  await afterEach(["passages", "embedder", "bm25", "vectors", ...manyDelays], "build", async (folder, at) => {
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
