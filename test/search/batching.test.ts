/** Micro-batching across callers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SeekError } from "../../lib/base/errors.ts";
import type { BatchEvent } from "../../lib/search/batching/batcher.ts";
import { withBatching } from "../../lib/search/batching/batching.ts";
import type { Hit, Search, SearchOptions } from "../../lib/search/search.ts";

interface Call {
  readonly queries: readonly string[];
  readonly options: SearchOptions;
}

const hitFor = (query: string, rank: number): Hit => ({
  id: `${query}#${rank}`,
  title: query,
  text: "",
  score: 1,
});

/** A search that writes down its calls and answers once `open` is called, or fails when its signal fires. */
function gated(): { search: Search; calls: Call[]; open: () => void; called: () => Promise<void> } {
  const calls: Call[] = [];
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const search: Search = async (queries, options) => {
    calls.push({ queries, options });
    await new Promise<void>((resolve, reject) => {
      void gate.then(resolve);
      options.signal?.addEventListener("abort", () => reject(options.signal?.reason));
    });
    return queries.map((query) => Array.from({ length: options.topK }, (_, rank) => hitFor(query, rank)));
  };
  const called = async (): Promise<void> => {
    while (calls.length === 0) await sleep(1);
  };
  return { search, calls, open, called };
}

/** The same with the gate open from the start. */
function recorded(): { search: Search; calls: Call[] } {
  const { search, calls, open } = gated();
  open();
  return { search, calls };
}

test("the queries of many callers become one search, each caller gets its own hits", async () => {
  const { search, calls } = recorded();
  const find = withBatching(search);
  const found = await Promise.all(
    Array.from({ length: 20 }, (_, i) => find([`a${i}`, `b${i}`], { topK: 2 })),
  );
  assert.equal(calls.length, 1);
  assert.equal(calls[0]?.queries.length, 40);
  for (const [i, hits] of found.entries()) {
    assert.deepEqual(
      hits.map((list) => list.map(({ id }) => id)),
      [
        [`a${i}#0`, `a${i}#1`],
        [`b${i}#0`, `b${i}#1`],
      ],
    );
  }
});

test("equal queries are asked once, also while the search is under way, and kept afterwards", async () => {
  const { search, calls, open, called } = gated();
  const find = withBatching(search);
  const first = Promise.all([find(["x"], { topK: 1 }), find(["x", "x"], { topK: 1 })]);
  await called();
  const joined = find(["x"], { topK: 1 });
  open();
  await Promise.all([first, joined]);
  assert.deepEqual(await find(["x"], { topK: 1 }), [[hitFor("x", 0)]]);
  assert.deepEqual(
    calls.map(({ queries }) => queries),
    [["x"]],
  );
});

test("a full batch leaves before the window ends, the rest after it", async () => {
  const { search, calls } = recorded();
  const find = withBatching(search, { windowMs: 10_000, maxBatch: 3 });
  const started = performance.now();
  await Promise.all(Array.from({ length: 6 }, (_, i) => find([`${i}`], { topK: 1 })));
  assert.ok(performance.now() - started < 9000);
  assert.deepEqual(
    calls.map(({ queries }) => queries.length),
    [3, 3],
  );
});

test("queries that differ in topK are searched for apart", async () => {
  const { search, calls } = recorded();
  const find = withBatching(search);
  const [one, three] = await Promise.all([find(["x"], { topK: 1 }), find(["x"], { topK: 3 })]);
  assert.deepEqual([one[0]?.length, three[0]?.length], [1, 3]);
  assert.deepEqual(calls.map(({ options }) => options.topK).sort(), [1, 3]);
});

test("a caller that aborts leaves at once, the others' queries go on", async () => {
  const { search, calls, open, called } = gated();
  const find = withBatching(search);
  const stop = new AbortController();
  const leaver = find(["shared", "own"], { topK: 1, signal: stop.signal });
  const other = find(["shared"], { topK: 1 });
  await called();
  stop.abort("enough");
  await assert.rejects(leaver, { code: "ERR_ABORTED", cause: "enough" });
  assert.equal(calls[0]?.options.signal?.aborted, false);
  open();
  assert.deepEqual(await other, [[hitFor("shared", 0)]]);
});

test("a query that nobody waits for any more is not sent, a search for nobody is aborted", async () => {
  const { search, calls, open, called } = gated();
  const find = withBatching(search);
  const early = new AbortController();
  const late = new AbortController();
  const rejections = [
    assert.rejects(find(["early"], { topK: 1, signal: early.signal }), { code: "ERR_ABORTED" }),
    assert.rejects(find(["late"], { topK: 1, signal: late.signal }), { code: "ERR_ABORTED" }),
  ];
  early.abort();
  await called();
  late.abort();
  await Promise.all(rejections);
  assert.deepEqual(
    calls.map(({ queries }) => queries),
    [["late"]],
  );
  assert.equal(calls[0]?.options.signal?.aborted, true);
  open();
  assert.deepEqual(await find(["late"], { topK: 1 }), [[hitFor("late", 0)]], "and can be asked again");
});

test("a signal that has already fired rejects without a search", async () => {
  const { search, calls } = recorded();
  await assert.rejects(withBatching(search)(["x"], { topK: 1, signal: AbortSignal.abort() }), {
    code: "ERR_ABORTED",
  });
  await sleep(5);
  assert.equal(calls.length, 0);
});

test("failures are typed, reach every caller and are not kept", async () => {
  const failures = [new Error("socket hang up"), new SeekError("ERR_FORMAT", "odd answer")];
  let numCalls = 0;
  const find = withBatching(async (queries) => {
    const failure = failures[numCalls];
    numCalls += 1;
    if (failure) throw failure;
    return queries.map((query) => [hitFor(query, 0)]);
  });
  const both = await Promise.allSettled([find(["x"], { topK: 1 }), find(["x"], { topK: 1 })]);
  for (const outcome of both) {
    assert.equal(outcome.status === "rejected" && outcome.reason.code, "ERR_REMOTE");
  }
  await assert.rejects(find(["x"], { topK: 1 }), { code: "ERR_FORMAT" });
  assert.deepEqual(await find(["x"], { topK: 1 }), [[hitFor("x", 0)]]);
});

test("a query that makes its batch fail fails alone", async () => {
  const sizes: number[] = [];
  const find = withBatching(async (queries) => {
    sizes.push(queries.length);
    if (queries.includes("bad")) throw new SeekError("ERR_FORMAT", "bad query");
    return queries.map((query) => [hitFor(query, 0)]);
  });
  const asked = ["a", "bad", "b"].map((query) => find([query], { topK: 1 }));
  const [a, bad, b] = await Promise.allSettled(asked);
  assert.deepEqual([a?.status, bad?.status, b?.status], ["fulfilled", "rejected", "fulfilled"]);
  assert.equal(bad?.status === "rejected" && bad.reason.code, "ERR_FORMAT");
  assert.deepEqual(sizes, [3, 1, 1, 1]);
});

/** A search in which the query "slow" takes as long as the test. */
function slowSearch(): { search: Search; sizes: number[] } {
  const sizes: number[] = [];
  const search: Search = async (queries, { signal }) => {
    sizes.push(queries.length);
    if (queries.includes("slow")) await sleep(60_000, undefined, { signal, ref: false });
    return queries.map((query) => [hitFor(query, 0)]);
  };
  return { search, sizes };
}

test("a slow query holds up those of its batch until they are asked alone, and fails at its deadline", async () => {
  const { search, sizes } = slowSearch();
  const find = withBatching(search, { aloneAfterMs: 20, timeoutMs: 2000 });
  let hasFailed = false;
  const failing = find(["slow"], { topK: 1 }).finally(() => (hasFailed = true));
  const slow = assert.rejects(failing, { code: "ERR_REMOTE", message: /within 2000 ms/ });
  assert.deepEqual(await find(["x"], { topK: 1 }), [[hitFor("x", 0)]]);
  assert.equal(hasFailed, false);
  assert.deepEqual(sizes, [2, 1, 1]);
  await slow;
});

test("later queries do not wait for a slow one", async () => {
  const { search } = slowSearch();
  const find = withBatching(search);
  const stop = new AbortController();
  const slow = assert.rejects(find(["slow"], { topK: 1, signal: stop.signal }), { code: "ERR_ABORTED" });
  await sleep(5);
  const started = performance.now();
  for (let i = 0; i < 20; i += 1) await find([`${i}`], { topK: 1 });
  assert.ok(performance.now() - started < 10_000, `${performance.now() - started} ms`);
  stop.abort();
  await slow;
});

test("without a fixed window nothing waits when nothing is under way, and a search under way gathers", async () => {
  const { search, calls, open, called } = gated();
  const find = withBatching(search);
  const first = find(["first"], { topK: 1 });
  await called();
  const others = ["a", "b"].map((query) => find([query], { topK: 1 }));
  await new Promise(setImmediate);
  others.push(find(["c"], { topK: 1 }));
  open();
  await Promise.all([first, ...others]);
  assert.deepEqual(
    calls.map(({ queries }) => queries),
    [["first"], ["a", "b", "c"]],
  );
});

test("a fixed window gathers what is asked within it", async () => {
  const { search, calls } = recorded();
  const find = withBatching(search, { windowMs: 60 });
  const first = find(["a"], { topK: 1 });
  await sleep(10);
  await Promise.all([first, find(["b"], { topK: 1 })]);
  assert.deepEqual(
    calls.map(({ queries }) => queries),
    [["a", "b"]],
  );
});

test("whoever listens is told of each query and each batch", async () => {
  const { search } = recorded();
  const events: BatchEvent[] = [];
  const find = withBatching(search, { onEvent: (event) => events.push(event) });
  await Promise.all([find(["x", "y"], { topK: 1 }), find(["x"], { topK: 1 })]);
  await find(["x"], { topK: 1 });
  assert.deepEqual(
    events.map((event) => (event.kind === "batch" ? [event.size, event.isFailed] : event.kind)),
    ["asked", "asked", "joined", [2, false], "cached"],
  );
});

test("the cache is bounded in bytes", async () => {
  const { search, calls } = recorded();
  const find = withBatching(search, { maxCachedBytes: 500 });
  for (const query of ["a", "b", "a", "a".repeat(300), "a"]) await find([query], { topK: 1 });
  assert.deepEqual(
    calls.map(({ queries }) => queries[0]?.slice(0, 2)),
    ["a", "b", "aa", "a"],
  );
});

test("a search that answers too few lists is an ERR_REMOTE", async () => {
  await assert.rejects(withBatching(async () => [])(["x"], { topK: 1 }), { code: "ERR_REMOTE" });
});

test("the cache is bounded and drops what was used longest ago", async () => {
  const { search, calls } = recorded();
  const find = withBatching(search, { windowMs: 0, maxCached: 2 });
  for (const query of ["a", "b", "a", "c", "a", "b"]) await find([query], { topK: 1 });
  assert.deepEqual(
    calls.map(({ queries }) => queries[0]),
    ["a", "b", "c", "b"],
  );
});
