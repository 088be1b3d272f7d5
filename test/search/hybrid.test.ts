/** Rankings fused by reciprocal rank, against numbers made by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { hybridSearch } from "../../lib/search/hybrid.ts";
import type { Search } from "../../lib/search/search.ts";

/** Finds the same ids for every query. */
function finds(...ids: string[]): Search {
  return async (queries, { topK }) =>
    queries.map(() => ids.slice(0, topK).map((id, i) => ({ id, title: id, text: "", score: 100 - i })));
}

const near = (actual: number | undefined, expected: number): void =>
  assert.ok(Math.abs((actual ?? 0) - expected) < 1e-15, `${actual}, ${expected}`);

test("a passage scores the sum of 1 / (60 + rank)", async () => {
  const search = hybridSearch([finds("a", "b", "c"), finds("b", "d")]);
  const [hits = []] = await search(["q"], { topK: 10 });
  // b: 1/62 + 1/61; a: 1/61; d: 1/62; c: 1/63
  assert.deepEqual(
    hits.map(({ id }) => id),
    ["b", "a", "d", "c"],
  );
  near(hits[0]?.score, 0.03252247488101534);
  near(hits[1]?.score, 0.01639344262295082);
  near(hits[2]?.score, 0.016129032258064516);
  near(hits[3]?.score, 0.015873015873015872);
});

test("weights multiply, and ties keep the order of the searches", async () => {
  const tied = await hybridSearch([finds("a", "b"), finds("c", "b2")])(["q"], { topK: 3 });
  assert.deepEqual(
    tied[0]?.map(({ id }) => id),
    ["a", "c", "b"],
  );
  const weighted = await hybridSearch([finds("a", "b"), finds("c", "d")], { weights: [1, 2] })(["q"], {
    topK: 4,
  });
  // c: 2/61, d: 2/62, a: 1/61, b: 1/62
  assert.deepEqual(
    weighted[0]?.map(({ id }) => id),
    ["c", "d", "a", "b"],
  );
  near(weighted[0]?.[1]?.score, 0.03225806451612903);
});

test("what is deep in one ranking counts, however few hits are asked for", async () => {
  const many = Array.from({ length: 30 }, (_, i) => `p${i}`);
  const search = hybridSearch([finds(...many), finds("x", "p20")]);
  // p20: 1/81 + 1/62 = 0.0285; p0 and x: 1/61 = 0.0164
  const [[first] = [], [second] = []] = await search(["q", "r"], { topK: 1 });
  assert.deepEqual([first?.id, second?.id], ["p20", "p20"]);
});

test("a search that fails fails the whole, with its error", async () => {
  const failing: Search = () => Promise.reject(new SeekError("ERR_REMOTE", "down"));
  await assert.rejects(hybridSearch([finds("a"), failing])(["q"], { topK: 1 }), { code: "ERR_REMOTE" });
  const signal = AbortSignal.abort();
  await assert.rejects(hybridSearch([finds("a")])(["q"], { topK: 1, signal }), { code: "ERR_ABORTED" });
});

test("options that cannot be are refused", () => {
  assert.throws(() => hybridSearch([]), { code: "ERR_ARGUMENT" });
  assert.throws(() => hybridSearch([finds("a")], { weights: [1, 1] }), { code: "ERR_SHAPE" });
  assert.throws(() => hybridSearch([finds("a")], { weights: [0] }), { code: "ERR_RANGE" });
  assert.throws(() => hybridSearch([finds("a")], { depth: 0 }), { code: "ERR_RANGE" });
});
