/** Elasticsearch's and OpenSearch's requests and answers in the shapes of their documentation; no live server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { elasticsearchSearch, importToElasticsearch } from "../../../connectors/stores/elasticsearch.ts";
import { HashedEmbedder } from "../../../lib/search/embed/hashed-embedder.ts";
import { peoplePassages } from "../../search/people.ts";
import { startFaultServer } from "../remote/fault-server.ts";
import { elasticsearchReply } from "./doubles.ts";

const passages = peoplePassages(30);
const embedder = await HashedEmbedder.fit(
  passages.map(({ text }) => text),
  { dim: 16 },
);

test("the request is ArtSearch's: multi_match over title and text, size k; the hits are the server's", async () => {
  const hits = [
    {
      _index: "wiki_en",
      _id: "17",
      _score: 9.5,
      _source: { id: "17", url: "u", title: "Paris", text: "A city." },
    },
    {
      _index: "wiki_en",
      _id: "4",
      _score: 2.25,
      _source: { id: "4", url: "v", title: "Rome", text: "Another." },
    },
  ];
  const answer = {
    took: 5,
    timed_out: false,
    _shards: { total: 1, successful: 1, skipped: 0, failed: 0 },
    hits: { total: { value: 2, relation: "eq" }, max_score: 9.5, hits },
  };
  await using server = await startFaultServer(() => answer);
  const url = server.url.replace("//", "//elastic:secret@");
  const found = await elasticsearchSearch({ url, index: "wiki_en" })(["capital of France", "b"], { topK: 5 });
  const [first] = server.asked;
  assert.deepEqual([first?.method, first?.url], ["POST", "/wiki_en/_search"]);
  assert.equal(first?.headers.authorization, `Basic ${btoa("elastic:secret")}`);
  const { query, size } = first!.body as Record<string, unknown>;
  assert.deepEqual(
    { query, size },
    { size: 5, query: { multi_match: { query: "capital of France", fields: ["title", "text"] } } },
  );
  assert.equal(server.asked.length, 2);
  assert.deepEqual(found[0], [
    { id: "17", title: "Paris", text: "A city.", score: 9.5 },
    { id: "4", title: "Rome", text: "Another.", score: 2.25 },
  ]);
});

test("vectors are asked for as each engine's documentation says", async () => {
  await using server = await startFaultServer(elasticsearchReply());
  const options = { url: server.url, index: "i", embedder, vectorField: "v" };
  await elasticsearchSearch(options)(["x"], { topK: 200 });
  await elasticsearchSearch({ ...options, engine: "opensearch" })(["x"], { topK: 2 }).catch(() => []);
  const vector = [...(await embedder.embedQueries(["x"]))];
  const [{ knn }, { query }] = server.asked.map(({ body }) => body as Record<string, unknown>) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  assert.deepEqual(knn, { field: "v", query_vector: vector, k: 200, num_candidates: 200 });
  assert.deepEqual(query, { knn: { v: { vector, k: 2 } } });
});

test("passages that were brought in are found, by words and by vectors", async () => {
  await using server = await startFaultServer(elasticsearchReply());
  process.env.SEEKRL_TEST_ELASTIC = "a2V5";
  const into = {
    url: server.url,
    index: "pe/ople",
    apiKeyEnv: "SEEKRL_TEST_ELASTIC",
    embedder,
    batchSize: 8,
  };
  const { passages: count } = await importToElasticsearch(passages, into);
  assert.equal(count, 30);
  assert.deepEqual(
    server.asked.map(({ method, url }) => `${method} ${url}`),
    [
      "PUT /pe%2Fople",
      ...Array.from({ length: 4 }, () => "POST /pe%2Fople/_bulk"),
      "POST /pe%2Fople/_refresh",
    ],
  );
  assert.equal(server.asked[0]?.headers.authorization, "ApiKey a2V5");
  const { mappings } = server.asked[0]!.body as { mappings: unknown };
  const embedding = { type: "dense_vector", dims: 16, index: true, similarity: "cosine" };
  assert.deepEqual(mappings, { properties: { title: { type: "text" }, text: { type: "text" }, embedding } });
  // Two batches are under way at once, so that the first to arrive need not be the first.
  const bulk = server.asked.find(({ body }) => String(body).startsWith(`{"index":{"_id":"p0"}}`));
  assert.equal(bulk?.headers["content-type"], "application/x-ndjson");
  const [head, row, ...more] = String(bulk?.body)
    .split("\n")
    .map((line) => (line ? JSON.parse(line) : line));
  assert.deepEqual([head, row.title, more.at(-1)], [{ index: { _id: "p0" } }, passages[0]?.title, ""]);
  for (const options of [{}, { embedder }]) {
    const search = elasticsearchSearch({ url: server.url, index: "pe/ople", ...options });
    const [hits] = await search([`${passages[7]?.title}`], { topK: 1 });
    assert.equal(hits?.[0]?.title, passages[7]?.title);
  }
});

test("OpenSearch's index is made as its documentation says", async () => {
  await using server = await startFaultServer(elasticsearchReply());
  const into = { url: server.url, index: "i", embedder, engine: "opensearch" } as const;
  await importToElasticsearch(passages.slice(0, 1), into);
  const method = { name: "hnsw", engine: "lucene", space_type: "cosinesimil" };
  const embedding = { type: "knn_vector", dimension: 16, method };
  assert.deepEqual(server.asked[0]?.body, {
    settings: { index: { knn: true } },
    mappings: { properties: { title: { type: "text" }, text: { type: "text" }, embedding } },
  });
});

test("a full queue is asked again, a refused passage is named, an index that is there stays", async () => {
  const reply = elasticsearchReply();
  const item = (status: number, type: string) => ({
    index: { _id: "p3", status, error: { type, reason: "because" } },
  });
  const faults = [
    item(429, "es_rejected_execution_exception"),
    undefined,
    item(400, "mapper_parsing_exception"),
  ];
  await using server = await startFaultServer((asked) => {
    if (!asked.url.endsWith("_bulk")) return reply(asked);
    const fault = faults.shift();
    return fault
      ? { took: 1, errors: true, items: [{ index: { _id: "p0", status: 201 } }, fault] }
      : reply(asked);
  });
  const error = {
    root_cause: [],
    type: "resource_already_exists_exception",
    reason: "index [i] already exists",
  };
  server.script.push({ status: 400, body: JSON.stringify({ error, status: 400 }) });
  const into = { url: server.url, index: "i" };
  await importToElasticsearch(passages, into);
  assert.equal(server.asked.filter(({ url }) => url.endsWith("_bulk")).length, 2);
  await assert.rejects(importToElasticsearch(passages, into), {
    code: "ERR_REMOTE",
    message: `${server.url}/: passage "p3" was refused: mapper_parsing_exception: because`,
  });
});

test("answers of some shards only are failures, not fewer hits", async () => {
  const partial = [
    { timed_out: true },
    { timed_out: false, _shards: { total: 2, successful: 1, failed: 1 } },
  ];
  for (const [i, part] of partial.entries()) {
    await using server = await startFaultServer(() => ({ took: 1, ...part, hits: { hits: [] } }));
    const search = elasticsearchSearch({ url: server.url, index: "i", transport: { retries: 0 } });
    const message = /expected the answers of all shards, got (a time-out|1 failed)/;
    await assert.rejects(search(["x"], { topK: 1 }), { code: "ERR_REMOTE", message }, String(i));
  }
});
