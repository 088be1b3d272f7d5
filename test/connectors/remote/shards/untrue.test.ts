/** Servers of a shard whose answers cannot be true, or that hold another index: they are left out, alone they are named. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { shardedSearch } from "../../../../connectors/remote/shards/sharded-search.ts";
import { openIndex } from "../../../../lib/search/index-folder/open.ts";
import { type Change, relayTo } from "./relay.ts";
import { buildShards, serveIndex } from "./sharded-world.ts";

const world = await buildShards(120, 2);
const queries = world.passages.slice(0, 8).map(({ title }) => `where was ${title} born`);
const one = await openIndex(world.whole);
const expected = await one(queries, { topK: 5 });
const first = await serveIndex(world.shards[0] ?? "");
const second = await serveIndex(world.shards[1] ?? "");
after(async () => {
  one.close();
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  await world.remove();
});

interface Ranking {
  rows: number[][];
  scores: number[][];
}

/** Changes each ranking of `/shard/find`. */
function rankings(change: (ranking: Ranking) => void, names = ["words", "vectors"]): Change {
  return (path, answer) => {
    if (path === "/shard/find") for (const name of names) change(answer[name] as Ranking);
  };
}

/** Changes every list of a ranking. */
function lists(
  rows: (own: number[]) => number[],
  scores: (own: number[]) => number[] = (own) => own,
): Change {
  return rankings((ranking) => {
    ranking.rows = ranking.rows.map(rows);
    ranking.scores = ranking.scores.map(scores);
  });
}

const fewer = (names: string[], keep: number): Change =>
  rankings((ranking) => {
    ranking.rows = ranking.rows.map((own) => own.slice(0, keep));
    ranking.scores = ranking.scores.map((own) => own.slice(0, keep));
  }, names);

const prepared =
  (name: string, change: (value: never) => unknown): Change =>
  (path, answer) => {
    if (path === "/shard/prepare") answer[name] = change(answer[name] as never);
  };

const untrue: readonly (readonly [what: string, change: Change, said: RegExp])[] = [
  [
    "rows of the next shard",
    lists((own) => own.map((row) => row + 60)),
    /find: words of query 0: expected rows from 0 to 59, got/,
  ],
  [
    "rows of no shard",
    lists((own) => own.map((row) => row + 100_000)),
    /expected rows from 0 to 59, got 100/,
  ],
  ["a row twice", lists((own) => own.map(() => own[0] ?? 0)), /expected each row once, got \d+ twice/],
  [
    "more rows than it has",
    lists(
      () => Array.from({ length: 61 }, (_, i) => i),
      () => Array.from({ length: 61 }, () => 9),
    ),
    /expected \d+( to \d+)? rows, got 61/,
  ],
  ["no rows by words", fewer(["words"], 0), /words of query 0: expected \d+( to \d+)? rows, got 0/],
  ["a row less by vectors", fewer(["vectors"], 49), /vectors of query 0: expected 50 rows, got 49/],
  [
    "scores that rise",
    lists(
      (own) => own,
      (own) => own.toReversed(),
    ),
    /expected no score above the one before it/,
  ],
  [
    "scores beyond f32",
    lists(
      (own) => own,
      (own) => own.map(() => 1e300),
    ),
    /expected scores in the range of f32, got 1e\+300/,
  ],
  [
    "no ranking by vectors",
    (path, answer) => void (path === "/shard/find" && delete answer.vectors),
    /vectors: expected rows for 8 queries, got none/,
  ],
  [
    "terms in more passages than there are",
    prepared("frequencies", (each: number[][]) => each.map((own) => own.map(() => 61))),
    /prepare: expected frequencies of at most 60 passages, got 61/,
  ],
  [
    "half a frequency",
    prepared("frequencies", (each: number[][]) => each.map((own) => own.map(() => 0.5))),
    /expected frequencies of at most 60 passages, got 0\.5/,
  ],
  [
    "vectors cut short",
    prepared("vectors", (each: string) => each.slice(0, 8)),
    /expected f32 vectors of 4 queries, got 6 bytes/,
  ],
  [
    "a passage less than were asked for",
    (path, answer) => void (path === "/shard/passages" && (answer.passages as unknown[]).pop()),
    /passages: expected \d+ passages, got \d+/,
  ],
];

for (const [what, change, said] of untrue) {
  test(`a server that answers with ${what} is left out for another, and alone it is named`, async () => {
    let numLies = 0;
    await using lying = await relayTo(second.url, (path, answer) => {
      const before = JSON.stringify(answer);
      change(path, answer);
      if (JSON.stringify(answer) !== before) numLies += 1;
    });
    // The slower of two servers is asked when the other has failed.
    await using slow = await relayTo(second.url);
    slow.delayMs = 50;
    const transport = { coolMs: 60_000 };
    const search = shardedSearch({ shards: [[first.url], [lying.url, slow.url]], transport });
    // Several at once, since what it is asked alone may have a true answer.
    while (numLies === 0) {
      const found = await Promise.all([0, 1, 2, 3].map(() => search(queries, { topK: 5 })));
      for (const each of found) assert.deepEqual(each, expected);
    }
    const before = lying.asked.length;
    assert.deepEqual(await search(queries, { topK: 5 }), expected);
    assert.equal(lying.asked.length, before);
    const alone = shardedSearch({ shards: [[first.url], [lying.url]], transport: { retries: 0 } });
    await assert.rejects(alone(queries, { topK: 5 }), (error: Error & { code?: string }) => {
      assert.equal(error.code, "ERR_REMOTE");
      assert.ok(
        error.message.startsWith(`shard 2 of 2: no server answers: ${lying.url}/shard/`),
        error.message,
      );
      assert.match(error.message, said);
      return true;
    });
  });
}

test("servers of one shard that hold different indexes are refused, and both are named", async () => {
  const search = shardedSearch({ shards: [[first.url, second.url], [second.url]] });
  await assert.rejects(search(queries, { topK: 5 }), (error: Error & { code?: string }) => {
    assert.equal(error.code, "ERR_ARGUMENT");
    assert.match(
      error.message,
      /^shard 1 of 2: expected one index on all of its servers, got 60 passages for hybrid \(/,
    );
    for (const { url } of [first, second]) assert.ok(error.message.includes(` at ${url}`), error.message);
    return true;
  });
});

test("a server that was away when the search was opened is asked what it holds before it is searched", async () => {
  await using other = await relayTo(first.url);
  await using same = await relayTo(second.url);
  [other.isDown, same.isDown] = [true, true];
  const search = shardedSearch({
    shards: [[first.url], [other.url, same.url, second.url]],
    transport: { coolMs: 1 },
  });
  assert.deepEqual(await search(queries, { topK: 5 }), expected);
  [other.isDown, same.isDown] = [false, false];
  while (!(other.asked.includes("/shard") && same.asked.includes("/shard/find"))) {
    const found = await Promise.all([0, 1, 2, 3].map(() => search(queries, { topK: 5 })));
    for (const each of found) assert.deepEqual(each, expected);
  }
  assert.ok(same.asked.indexOf("/shard") < same.asked.indexOf("/shard/find"));
  assert.deepEqual([...new Set(other.asked)].sort(), ["/health", "/shard"]);
});
