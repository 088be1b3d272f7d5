/** An encoder and a re-ranker beside models, over the golden folders' weights. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import OpenAI from "openai";
import { type TextEncoders, textRoutes } from "../../../apps/serve/api/texts/routes.ts";
import { Encoder } from "../../../lib/search/embed/encoder.ts";
import { Reranker } from "../../../lib/search/embed/reranker.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../../project.ts";
import { post } from "../doubles.ts";
import { servedRoutes, servingOf } from "./doubles.ts";

const golden = join(projectRoot, "test", "golden", "embed");
const { texts } = JSON.parse(await readFile(join(golden, "golden.json"), "utf8")) as {
  texts: { passages: string[]; queries: string[] };
};
const [query = ""] = texts.queries;

const served = (t: TestContext, encoders: TextEncoders) =>
  servedRoutes(t, textRoutes(servingOf([]), encoders));

async function servedEncoder(t: TestContext) {
  const embedder = await Encoder.open(join(golden, "bert-cls"));
  t.after(() => embedder.close());
  return { embedder, server: await served(t, { embedding: { model: "small", embedder } }) };
}

test("embeddings of texts and of their ids are the encoder's", async (t) => {
  const { embedder, server } = await servedEncoder(t);
  const tokenizer = await Tokenizer.load(join(golden, "bert-cls"));
  const { marks } = tokenizer;
  const idsOf = (text: string): number[] => {
    const ids = tokenizer.encode(text, { parseSpecialTokens: false });
    return [...marks.prefix, ...ids, ...marks.suffix];
  };
  const inputs = texts.passages.filter(
    (text) => text !== "" && idsOf(text).length <= embedder.settings.maxTokens,
  );
  assert.ok(inputs.length >= 2);
  const expected = await embedder.embedPassages(inputs);
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "any" });
  for (const input of [inputs, inputs.map(idsOf)]) {
    const { data, usage } = await client.embeddings.create({ model: "small", input });
    assert.deepEqual(Float32Array.from(data.flatMap(({ embedding }) => embedding)), expected);
    assert.equal(usage.prompt_tokens, inputs.flatMap(idsOf).length);
  }
  const mixed = { input: [inputs[0], idsOf(inputs[1] ?? "")] };
  const { json } = await post(server, "/v1/embeddings", mixed);
  const vectors = (json as { data: { embedding: number[] }[] }).data.flatMap(({ embedding }) => embedding);
  assert.deepEqual(Float32Array.from(vectors), expected.subarray(0, 2 * embedder.dim));
});

test("an encoder answers under its own name, and under any where the server says so", async (t) => {
  const { embedder, server } = await servedEncoder(t);
  const ask = { input: "a", model: "text-embedding-3-small" };
  assert.equal((await post(server, "/v1/embeddings", ask)).status, 404);
  const lenient = await served(t, { embedding: { model: "small", embedder }, anyName: true });
  const { json } = await post(lenient, "/v1/embeddings", ask);
  assert.equal((json as { model: string }).model, "small");
});

test("without an encoder or a classifier a 404 names the option that brings it", async (t) => {
  const server = await served(t, {});
  const saying = async (path: string) => {
    const { status, json } = await post(server, path, { input: "a" });
    return `${status} ${(json as { error: { message: string } }).error.message}`;
  };
  assert.match(await saying("/v1/embeddings"), /^404 .*--encoder$/);
  assert.match(await saying("/v1/rerank"), /^404 .*--cross-encoder$/);
});

test("ids that are none are refused by their place", async (t) => {
  const { server } = await servedEncoder(t);
  const { status, json } = await post(server, "/v1/embeddings", { input: [[1], [1, 10_000_000]] });
  assert.equal(status, 400);
  assert.match((json as { error: { message: string } }).error.message, /input\[1\]: expected ids from 0 to/);
});

test("documents come in the classifier's order, with scores between 0 and 1", async (t) => {
  const reranker = await Reranker.open(join(golden, "bert-rank"));
  t.after(() => reranker.close());
  const server = await served(t, { reranker: { model: "ranker", reranker } });
  const documents = texts.passages.filter((text) => text !== "");
  const scores = await reranker.score(query, documents);
  const order = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  const { json } = await post(server, "/v1/rerank", { query, documents });
  const { results, usage, model } = json as {
    results: { index: number; relevance_score: number }[];
    usage: { total_tokens: number };
    model: string;
  };
  assert.deepEqual(
    results.map(({ index }) => index),
    order,
  );
  for (const { index, relevance_score } of results) {
    assert.ok(Math.abs(relevance_score - 1 / (1 + Math.exp(-(scores[index] ?? 0)))) < 1e-6);
  }
  const tokens = documents.map((document) => reranker.countTokens(query, document));
  assert.deepEqual([usage.total_tokens, model], [tokens.reduce((sum, count) => sum + count, 0), "ranker"]);
  const best = await post(server, "/rerank", {
    ...{ query, documents: documents.map((text) => ({ text })), top_n: 1, return_documents: true },
  });
  const [first] = (best.json as { results: { index: number; document: { text: string } }[] }).results;
  assert.deepEqual([first?.index, first?.document.text], [order[0], documents[order[0] ?? 0]]);
});

test("what is no question about documents is refused", async (t) => {
  const reranker = { score: async () => new Float32Array(0), countTokens: () => 0 };
  const server = await served(t, { reranker: { model: "ranker", reranker } });
  const statusOf = async (body: object): Promise<number> => (await post(server, "/v1/rerank", body)).status;
  for (const documents of [[], undefined, 123, [1, 2], [""], [{ image: "x" }]]) {
    assert.equal(await statusOf({ query: "a", documents }), 400, JSON.stringify(documents));
  }
  assert.equal(await statusOf({ query: "a", documents: ["b"], top_n: 0 }), 400);
  assert.equal(await statusOf({ query: "a".repeat(5000), documents: Array(4000).fill("b") }), 400);
  assert.equal(await statusOf({ query: "a", documents: ["b"], model: "other" }), 404);
});
