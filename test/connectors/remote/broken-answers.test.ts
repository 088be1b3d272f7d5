/** What agents see of servers that answer otherwise than they promise: ERR_REMOTE, or hits that are cut. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { elasticsearchSearch } from "../../../connectors/stores/elasticsearch.ts";
import { qdrantSearch } from "../../../connectors/stores/qdrant.ts";
import { askSearch, type Search } from "../../../lib/search/search.ts";
import { startFaultServer } from "./fault-server.ts";

interface Found {
  readonly document: object;
  readonly score?: unknown;
}

interface Server {
  readonly open: (url: string) => Search;
  /** Its answer, one list for each query. */
  readonly answer: (lists: readonly (readonly Found[])[]) => object;
  readonly hasScores: boolean;
  /** Queries that one request carries. */
  readonly isBatched: boolean;
}

const transport = { retries: 0 };
const embedder = { dim: 1, embedQueries: async (texts: readonly string[]) => new Float32Array(texts.length) };
const documentsOf = (found: readonly Found[]): object[] => found.map(({ document }) => document);
const scoresOf = (found: readonly Found[]): unknown[] => found.map(({ score }) => score);

const servers: Readonly<Record<string, Server>> = {
  retrieve: {
    open: (url) => remoteSearch({ url, transport }),
    answer: (lists) => ({ result: lists }),
    ...{ hasScores: true, isBatched: true },
  },
  search: {
    open: (url) => remoteSearch({ url, protocol: "search", transport }),
    answer: ([found = []]) => [documentsOf(found), scoresOf(found)],
    ...{ hasScores: true, isBatched: false },
  },
  batch_search: {
    open: (url) => remoteSearch({ url, protocol: "batch_search", transport }),
    answer: (lists) => [lists.map(documentsOf), lists.map(scoresOf)],
    ...{ hasScores: true, isBatched: true },
  },
  queries: {
    open: (url) => remoteSearch({ url, protocol: "queries", transport }),
    answer: (lists) => ({ answers: lists.map(documentsOf) }),
    ...{ hasScores: false, isBatched: true },
  },
  qdrant: {
    open: (url) => qdrantSearch({ url, collection: "c", embedder, transport }),
    answer: (lists) => ({
      result: lists.map((found) => ({
        points: found.map(({ document, score }, id) => ({ id, score, payload: document })),
      })),
    }),
    ...{ hasScores: true, isBatched: true },
  },
  elasticsearch: {
    open: (url) => elasticsearchSearch({ url, index: "i", transport }),
    answer: ([found = []]) => ({
      hits: {
        hits: found.map(({ document, score }, id) => ({ _id: `${id}`, _score: score, _source: document })),
      },
    }),
    ...{ hasScores: true, isBatched: false },
  },
};

const document = { id: "1", title: "Rome", text: "A city." };
const good = { document, score: 0.5 };
/** Stands for a number that JSON reads as infinite. */
const infinite = "1e999";

/** What each server answers to the queries, and what must stand in the error; undefined where hits are cut. */
const cases: Readonly<
  Record<string, { readonly lists: Found[][]; readonly message?: RegExp; readonly needs?: keyof Server }>
> = {
  "more hits than were asked for": { lists: [[good, good, good, good]] },
  "a score that is not finite": {
    lists: [[{ document, score: infinite }]],
    message: /number|expected/,
    needs: "hasScores",
  },
  "a score that is a text": {
    lists: [[{ document, score: "high" }]],
    message: /expected/,
    needs: "hasScores",
  },
  "a document without a text": {
    lists: [[{ document: { id: "1", title: "Rome" }, score: 1 }]],
    message: /expected|Invalid/,
  },
  "a document that is null": {
    lists: [[{ document: null as unknown as object, score: 1 }]],
    message: /expected|Invalid/,
  },
  "fewer lists than queries": { lists: [], message: /expected 1 lists/, needs: "isBatched" },
  "more lists than queries": { lists: [[good], [good]], message: /expected 1 lists/, needs: "isBatched" },
};

for (const [name, { open, answer, ...server }] of Object.entries(servers)) {
  for (const [what, { lists, message, needs }] of Object.entries(cases)) {
    if (needs !== undefined && !server[needs as keyof typeof server]) continue;
    test(`${name}: ${what}`, async () => {
      await using remote = await startFaultServer(() => ({}));
      const body = JSON.stringify(answer(lists)).replaceAll(`"${infinite}"`, infinite);
      remote.otherwise = { status: 200, body };
      const found = askSearch(open(remote.url), ["capital of Italy"], { topK: 2 });
      if (message !== undefined)
        return await assert.rejects(found, { name: "SeekError", code: "ERR_REMOTE", message });
      assert.deepEqual(
        (await found).map((hits) => hits.map(({ title }) => title)),
        [["Rome", "Rome"]],
      );
      assert.equal(remote.asked.length, 1);
    });
  }
}
