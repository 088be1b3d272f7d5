/** Rank fusion of several searches. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hybrid } from "../../lib/search/hybrid.ts";
import type { Search } from "../../lib/search/search.ts";

const ranked =
  (ids: readonly string[]): Search =>
  async (queries, { topK }) =>
    queries.map(() => ids.slice(0, topK).map((id, i) => ({ id, title: id, text: "", score: 100 - i })));

test("what both searches rank high comes first, with reciprocal ranks added up", async () => {
  const search = hybrid([ranked(["a", "b", "c"]), ranked(["b", "d", "a"])], { smoothing: 1 });
  const [hits] = await search(["x"], { topK: 3 });
  assert.deepEqual(
    hits?.map(({ id, score }) => [id, score]),
    [
      ["b", 1 / 3 + 1 / 2],
      ["a", 1 / 2 + 1 / 4],
      ["d", 1 / 3],
    ],
  );
});
