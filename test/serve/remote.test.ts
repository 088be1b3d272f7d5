/** Our clients of the published protocols find in our server what its search finds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { remoteSearch } from "../../connectors/remote/remote-search.ts";
import type { Search } from "../../lib/search/search.ts";
import { hitsFor, quickSearch, served } from "./doubles.ts";

const queries = Array.from({ length: 5 }, (_, i) => `“q${i}” & \\ \u0001 日本`);

test("every protocol carries ids, titles, texts and scores there and back", async (t) => {
  const { url } = await served(t, { apiKey: "k" });
  for (const protocol of ["retrieve", "search", "batch_search"] as const) {
    const found = await remoteSearch({ url, protocol, apiKey: "k", maxQueries: 2 })(queries, { topK: 3 });
    assert.deepEqual(
      found,
      queries.map((query) => hitsFor(query, 3)),
      protocol,
    );
  }
  const found = await remoteSearch({ url, protocol: "queries", apiKey: "k" })(queries, { topK: 3 });
  assert.deepEqual(
    found.map((hits) => hits.map(({ title, text }) => ({ title, text }))),
    queries.map((query) => hitsFor(query, 3).map(({ title, text }) => ({ title, text }))),
  );
});

test("a client that is told to come back later does, and is served", async (t) => {
  const search: Search = async (asked, options) => {
    await sleep(50);
    return quickSearch(asked, options);
  };
  const { url } = await served(t, { search, limits: { maxWaiting: 1 } });
  const find = remoteSearch({ url, transport: { retries: 5 } });
  const found = await Promise.all(["a", "b", "c"].map((query) => find([query], { topK: 1 })));
  assert.deepEqual(
    found.map(([hits]) => hits?.[0]?.text),
    ["über a", "über b", "über c"],
  );
});
