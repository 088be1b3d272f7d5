/** Parts of a corpus, searched apart with the whole's frequencies, against one index over all of it. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Bm25Builder, Bm25Index, type TermFrequencies } from "../../lib/search/bm25.ts";
import { randomFrom } from "../dice.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-bm25-parts-"));
after(() => rm(folder, { recursive: true }));

/** Passages of 1 to 40 words, most of them common ones, so that many score alike. */
function wordyTexts(count: number): string[] {
  const random = randomFrom(11);
  const word = (): string => `w${Math.floor(3000 ** random())}`;
  return Array.from({ length: count }, () =>
    Array.from({ length: 1 + Math.floor(40 * random() ** 2) }, word).join(" "),
  );
}

async function built(name: string, texts: readonly string[]): Promise<Bm25Index> {
  const builder = new Bm25Builder();
  await builder.add(texts);
  await builder.save(join(folder, name));
  builder.close();
  return Bm25Index.open(join(folder, name));
}

const corpus = wordyTexts(6000);
const bounds = [0, 2000, 2001, 2001, 6000];
const queries = ["w1", "w2 w30 w2", "w1 w5 w600", "w11 w2999", "none of these", ""];
const whole = await built("whole", corpus);
const parts = await Promise.all(bounds.slice(1).map((end, i) => built(`${i}`, corpus.slice(bounds[i], end))));

async function frequenciesOfAll(): Promise<TermFrequencies> {
  const found = await Promise.all(parts.map((part) => part.frequencies(queries)));
  const [first] = found as [TermFrequencies, ...TermFrequencies[]];
  for (const { counts } of found) assert.deepEqual(counts, first.counts);
  const frequencies = first.frequencies.map((_, i) =>
    found.reduce((sum, each) => sum + (each.frequencies[i] ?? 0), 0),
  );
  return { counts: first.counts, frequencies };
}

test("the frequencies of all parts add up to the whole's", async () => {
  assert.deepEqual(await frequenciesOfAll(), await whole.frequencies(queries));
  const numTerms = parts.reduce((sum, part) => sum + part.numTerms, 0);
  assert.equal(numTerms, whole.numTerms);
});

test("what parts find in the whole is what one index finds: ids, scores and order, ties included", async () => {
  const frequencies = await frequenciesOfAll();
  const size = { numPassages: whole.size, numTerms: whole.numTerms };
  const topK = 200;
  const found: { query: number; id: number; score: number }[] = [];
  for (const [i, part] of parts.entries()) {
    if (part.size === 0) continue;
    const asked = Math.min(topK, part.size);
    const own = await part.within(size);
    const { ids, scores } = await own.searchPart(queries, { topK: asked, whole: frequencies });
    own.close();
    for (const [at, id] of ids.entries())
      if (id >= 0)
        found.push({
          query: Math.floor(at / asked),
          id: id + (bounds[i] ?? 0),
          score: scores[at] ?? 0,
        });
  }
  const expected = await whole.search(queries, { topK });
  for (const query of queries.keys()) {
    const ranked = found.filter((each) => each.query === query);
    ranked.sort((a, b) => b.score - a.score || a.id - b.id);
    const best = ranked.slice(0, topK);
    const row = [query * topK, query * topK + best.length] as const;
    assert.deepEqual(
      best.map(({ id }) => id),
      [...expected.ids.subarray(...row)],
    );
    assert.deepEqual(
      best.map(({ score }) => Math.fround(score)),
      [...expected.scores.subarray(...row)],
    );
  }
});

test("frequencies of other queries and wholes smaller than the part are refused", async () => {
  const [part] = parts as [Bm25Index];
  const own = await part.within({ numPassages: whole.size, numTerms: whole.numTerms });
  const refused = (counts: number[], frequencies: number[]): Promise<void> =>
    assert.rejects(
      own.searchPart(["w1 w2"], {
        topK: 1,
        whole: { counts: Int32Array.from(counts), frequencies: Float64Array.from(frequencies) },
      }),
      { code: "ERR_ARGUMENT" },
    );
  await refused([1], [6000]);
  await refused([2], [6000]);
  await refused([2, 1], [6000, 6000, 1]);
  await refused([2], [6000, 0]);
  await refused([2], [6000, 7000]);
  await refused([2], [6000, Number.NaN]);
  own.close();
  await assert.rejects(part.within({ numPassages: 10, numTerms: 10 ** 9 }), { code: "ERR_RANGE" });
  await assert.rejects(part.within({ numPassages: 10 ** 9, numTerms: 10 }), { code: "ERR_RANGE" });
});
