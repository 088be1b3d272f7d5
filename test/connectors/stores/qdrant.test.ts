/** Qdrant's requests and answers in the shapes of its documentation; no live server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { importToQdrant, qdrantSearch } from "../../../connectors/stores/qdrant.ts";
import { HashedEmbedder } from "../../../lib/search/embed/hashed-embedder.ts";
import { peoplePassages } from "../../search/people.ts";
import { startFaultServer } from "../remote/fault-server.ts";
import { qdrantReply } from "./doubles.ts";

const passages = peoplePassages(30);
const embedder = await HashedEmbedder.fit(
  passages.map(({ text }) => text),
  { dim: 16 },
);

test("passages that were brought in are found, all queries in one request", async () => {
  await using server = await startFaultServer(qdrantReply());
  const where = { url: server.url, collection: "people", embedder, apiKey: "k" };
  const { passages: count } = await importToQdrant(passages, { ...where, batchSize: 20 });
  assert.equal(count, 30);
  const [create, ...upserts] = server.asked;
  // Batches are sent together and arrive in any order; the last one is the smaller.
  const pointsOf = (body: unknown) => (body as { points: { id: string; payload: object }[] }).points;
  const upsert = upserts.find(({ body }) => pointsOf(body).length === 20);
  assert.deepEqual(
    [create?.method, create?.url, create?.headers["api-key"]],
    ["PUT", "/collections/people", "k"],
  );
  assert.deepEqual(create?.body, { vectors: { size: 16, distance: "Cosine" } });
  assert.deepEqual([upsert?.method, upsert?.url], ["PUT", "/collections/people/points?wait=true"]);
  const points = pointsOf(upsert!.body);
  assert.deepEqual(points[0]?.payload, passages[0]);
  assert.match(points[0]?.id ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const titles = [3, 9].map((i) => passages[i]?.title ?? "");
  const hits = await qdrantSearch({ ...where, efSearch: 64 })(titles, { topK: 2 });
  assert.deepEqual(
    hits.map(([best]) => [best?.id, best?.title]),
    [
      ["p3", titles[0]],
      ["p9", titles[1]],
    ],
  );
  const asked = server.asked.at(-1);
  assert.deepEqual([asked?.method, asked?.url], ["POST", "/collections/people/points/query/batch"]);
  const { searches } = asked!.body as { searches: Record<string, unknown>[] };
  const { query, ...rest } = searches[1] ?? {};
  assert.deepEqual(rest, { limit: 2, with_payload: true, params: { hnsw_ef: 64 } });
  assert.equal((query as number[]).length, 16);
});

test("a collection that somebody else filled is read; distances count downwards", async () => {
  const points = [{ id: 42, version: 3, score: 0.25, payload: { contents: '"Paris"\nA city.', lang: "en" } }];
  await using server = await startFaultServer(() => ({ result: [{ points }], status: "ok", time: 0.001 }));
  const search = qdrantSearch({ url: server.url, collection: "wiki", embedder, metric: "l2" });
  assert.deepEqual(await search(["x"], { topK: 1 }), [
    [{ id: "42", title: "Paris", text: "A city.", score: -0.25 }],
  ]);
});

test("a collection that is there stays; what else is refused is said", async () => {
  await using server = await startFaultServer(qdrantReply());
  const status = { error: "Wrong input: Collection `people` already exists!" };
  const into = { url: server.url, collection: "people", embedder };
  server.script.push({ status: 409, body: JSON.stringify({ status, time: 0.001 }) });
  assert.equal((await importToQdrant(passages, into)).passages, 30);
  server.script.push({ status: 403, body: "Must provide an API key" });
  await assert.rejects(importToQdrant(passages, into), {
    code: "ERR_REMOTE",
    message: /got 403: Must provide/,
  });
});
