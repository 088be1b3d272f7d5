/** BM25 over more passages than one window and block holds, against an independent float64 implementation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { built, plainBm25, wordyTexts } from "./plain-bm25.ts";

test("over many windows and blocks nothing that belongs to the best is skipped", async () => {
  const corpus = wordyTexts(12_000, 3);
  const index = await built(corpus, { maxBytes: 2 ** 20 });
  const queries = [
    "w1",
    "w2 w30",
    "w1 w2 w3 w19000",
    "w777 w8000 w12 w1",
    "w500 w1 w500 w40 w9 w2 w3000 w15",
  ];
  for (const topK of [1, 10, 500]) {
    const { ids, scores } = await index.search(queries, { topK });
    for (const [q, query] of queries.entries()) {
      const expected = plainBm25(corpus, query, topK);
      assert.deepEqual(
        [...ids.subarray(q * topK, q * topK + expected.length)],
        expected.map(([id]) => id),
        query,
      );
      const actual = scores.subarray(q * topK, q * topK + expected.length);
      for (const [i, [, score]] of expected.entries())
        assert.ok(Math.abs((actual[i] ?? 0) - score) <= 1e-6 * score, query);
    }
  }
  index.close();
});
