/** Shards on servers of their own find what one index finds, number for number. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { shardedSearch } from "../../../../connectors/remote/shards/sharded-search.ts";
import { removeFromIndex } from "../../../../lib/search/index-folder/change/edit.ts";
import { openIndex } from "../../../../lib/search/index-folder/open.ts";
import { withReranking } from "../../../../lib/search/reranking.ts";
import type { Hit } from "../../../../lib/search/search.ts";
import { buildShards, serveIndex } from "./sharded-world.ts";

const world = await buildShards(403, 4);
const served = await Promise.all(world.shards.map((folder) => serveIndex(folder)));
after(async () => {
  for (const each of served) await each[Symbol.asyncDispose]();
  await world.remove();
});
const shards = served.map(({ url }) => [url]);
const queries = [
  ...world.passages.filter((_, i) => i % 17 === 0).map(({ title }) => `where was ${title} born`),
  "a painter who was born in the town",
  "moved",
  "no word of these xyzzy",
];

for (const mode of ["bm25", "dense", "hybrid"] as const) {
  test(`ids, scores, texts and order are those of one index, ties included: ${mode}`, async () => {
    const one = await openIndex(world.whole, { mode });
    const search = shardedSearch({ shards, mode, maxQueries: 7 });
    for (const topK of [1, 3, 10, 150, 403]) {
      const expected = await one(queries, { topK });
      assert.deepEqual(await search(queries, { topK }), expected, `top ${topK}`);
    }
    const [alone] = await search(queries.slice(0, 1), { topK: 5 });
    assert.deepEqual(alone, (await one(queries.slice(0, 1), { topK: 5 }))[0]);
    one.close();
  });
}

test("many passages of the corpus score alike, in shards apart", async () => {
  const search = shardedSearch({ shards, mode: "bm25" });
  const [hits = []] = await search(["a painter who was born in the town"], { topK: 403 });
  const shardOf = ({ id }: Hit): number => Math.floor((Number(id.slice(1)) * 4) / 403);
  const tied = hits.filter((hit) =>
    hits.some((other) => other.score === hit.score && shardOf(other) !== shardOf(hit)),
  );
  assert.ok(tied.length > 100, `${tied.length} passages that score as one of another shard does`);
});

test("candidates that are scored again are as good as one index's at every place, or better", async () => {
  const again = await buildShards(300, 3, { dtype: "i8", kind: "exact" });
  const servers = await Promise.all(again.shards.map((folder) => serveIndex(folder)));
  const one = await openIndex(again.whole, { mode: "dense", overFetch: 1 });
  const search = shardedSearch({ shards: servers.map(({ url }) => [url]), mode: "dense" });
  const [expected, found] = [await one(queries, { topK: 9 }), await search(queries, { topK: 9 })];
  for (const [q, hits] of expected.entries())
    for (const [i, { score }] of hits.entries())
      assert.ok((found[q]?.[i]?.score ?? 0) >= score, `${q}, ${i}`);
  one.close();
  for (const each of servers) await each[Symbol.asyncDispose]();
  await again.remove();
});

test("passages that are removed from a shard are removed from the whole, and rankings are no shorter than what is left", async () => {
  const fewer = await buildShards(90, 2);
  const removed = fewer.passages.filter((_, i) => i % 3 === 0 && i < 40).map(({ id }) => id);
  for (const folder of [fewer.whole, fewer.shards[0] ?? ""]) await removeFromIndex(folder, removed);
  const servers = await Promise.all(fewer.shards.map((folder) => serveIndex(folder)));
  const one = await openIndex(fewer.whole);
  const search = shardedSearch({ shards: servers.map(({ url }) => [url]) });
  for (const topK of [5, 90]) assert.deepEqual(await search(queries, { topK }), await one(queries, { topK }));
  one.close();
  for (const each of servers) await each[Symbol.asyncDispose]();
  await fewer.remove();
});

test("shards named in another order are searched in the order of their passages", async () => {
  const one = await openIndex(world.whole);
  const search = shardedSearch({ shards: shards.toReversed() });
  assert.deepEqual(await search(queries, { topK: 20 }), await one(queries, { topK: 20 }));
  one.close();
});

test("hits are re-ranked after they are merged", async () => {
  const reranker = { scorePairs: async (pairs: readonly unknown[]) => Float32Array.from(pairs, (_, i) => i) };
  const one = await openIndex(world.whole);
  const [first, second] = [one, shardedSearch({ shards })].map((search) =>
    withReranking(search, { reranker, topK: 40 })(queries, { topK: 5 }),
  );
  assert.deepEqual(await second, await first);
  one.close();
});

test("what does not belong together is refused by name", async () => {
  const asked = (urls: readonly string[][], options = {}): Promise<unknown> =>
    shardedSearch({ shards: urls, ...options })(["q"], { topK: 1 });
  await assert.rejects(asked(shards.slice(0, 3)), {
    code: "ERR_ARGUMENT",
    message: "shard 1 of 3: expected part 1 of 3, got part 1 of 4",
  });
  const twice = [...shards.slice(0, 3), shards[0] ?? []];
  await assert.rejects(asked(twice), {
    code: "ERR_ARGUMENT",
    message: /expected part 2 of 4, got part 1 of 4/,
  });
  const other = await buildShards(60, 2, { dim: 64 });
  await using stranger = await serveIndex(other.whole);
  await assert.rejects(asked([[stranger.url], ...shards.slice(1)]), {
    code: "ERR_ARGUMENT",
    message: "shard 2 of 4: expected the settings and the embedder of shard 1 of 4, got others",
  });
  await other.remove();
  assert.throws(() => shardedSearch({ shards: [] }), { code: "ERR_ARGUMENT" });
  assert.throws(() => shardedSearch({ shards: [[]] }), { code: "ERR_ARGUMENT" });
  assert.throws(() => shardedSearch({ shards: [["ftp://x"]] }), { code: "ERR_ARGUMENT" });
});
