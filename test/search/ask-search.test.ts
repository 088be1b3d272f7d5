/** What comes back of a search that is anybody's code. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { askSearch, type Hit, type Search } from "../../lib/search/search.ts";

const hit = (score: number): Hit => ({ id: "1", title: "", text: "", score });

test("a score that is not finite is refused", async () => {
  for (const score of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const refused = { code: "ERR_REMOTE", message: /finite score as hit 0 of query 0/ };
    await assert.rejects(
      askSearch(async () => [[hit(score)]], ["q"], { topK: 1 }),
      refused,
    );
  }
});

test("hits beyond topK are cut", async () => {
  const search: Search = async () => [[hit(3), hit(2), hit(1)], [hit(1)]];
  const found = await askSearch(search, ["a", "b"], { topK: 2 });
  assert.deepEqual(found, [[hit(3), hit(2)], [hit(1)]]);
});

test("a search that throws at once fails as one that rejects", async () => {
  const failed = { name: "SeekError", code: "ERR_REMOTE", message: "search: broken" };
  const atOnce = (() => {
    throw new TypeError("broken");
  }) as unknown as Search;
  const later: Search = async () => {
    throw new TypeError("broken");
  };
  for (const search of [atOnce, later]) await assert.rejects(askSearch(search, ["q"], { topK: 1 }), failed);
});
