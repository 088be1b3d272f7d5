/** Many parts of a corpus, built apart and merged, are the index of all. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Hit } from "../../../lib/search/search.ts";
import { peoplePassages } from "../people.ts";
import { jsonLinesFile } from "./corpus-file.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-merge-"));
after(() => rm(root, { recursive: true }));
const passages = peoplePassages(900);
const corpus = await jsonLinesFile(join(root, "corpus.jsonl"), passages);
const queries = passages.filter((_, i) => i % 9 === 0).map(({ title }) => `where was ${title} born`);
const modes = ["bm25", "dense", "hybrid"] as const;

async function topTen(folder: string, mode: (typeof modes)[number]): Promise<Hit[][]> {
  const search = await openIndex(folder, { mode });
  const hits = await search(queries, { topK: 10 });
  search.close();
  return hits;
}

async function sameAnswers(a: string, b: string, what: string): Promise<void> {
  for (const mode of modes)
    assert.deepEqual(await topTen(a, mode), await topTen(b, mode), `${what}, ${mode}`);
}

/** Files of an index's only segment, by name. */
async function segmentOf(folder: string): Promise<Map<string, string>> {
  const [name = "", ...others] = await readdir(join(folder, "segments"));
  assert.deepEqual(others, []);
  const path = join(folder, "segments", name);
  const files = (await readdir(path)).map(
    async (file) => [file, (await readFile(join(path, file))).toString("latin1")] as const,
  );
  return new Map(await Promise.all(files));
}

test("ten parts, built apart and merged, are byte for byte the index that is built at once", async () => {
  const whole = join(root, "whole");
  await buildIndex({ corpus, out: whole });
  const parts: string[] = [];
  for (let index = 1; index <= 10; index += 1) {
    const out = join(root, `part-${index}`);
    await buildIndex({ corpus, out, part: { index, count: 10 } });
    parts.push(out);
  }
  const merged = join(root, "merged");
  await mergeIndexes(parts, merged);
  assert.deepEqual(await segmentOf(merged), await segmentOf(whole));
  await sameAnswers(merged, whole, "parts");
  const other = join(root, "other");
  await buildIndex({ corpus: passages.slice(0, 90), out: other, dense: { dim: 64 } });
  await assert.rejects(mergeIndexes([whole, other], join(root, "no")), {
    code: "ERR_ARGUMENT",
    message: /other/,
  });
  await assert.rejects(mergeIndexes([whole, merged], join(root, "no")), {
    code: "ERR_ARGUMENT",
    message: /"p0"/,
  });
  await assert.rejects(mergeIndexes([parts[0] ?? ""], whole), { code: "ERR_ARGUMENT", message: /not among/ });
});
