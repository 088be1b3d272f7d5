/** Vectors over HTTP: from SeekRL's own server, and from servers that answer differently. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { serveRetriever } from "../../../apps/serve/retriever/retriever-server.ts";
import { remoteEmbedder } from "../../../connectors/remote/remote-embedder.ts";
import { HashedEmbedder } from "../../../lib/search/embed/hashed-embedder.ts";
import { peoplePassages } from "../../search/people.ts";
import { startFaultServer } from "./fault-server.ts";

const texts = peoplePassages(40).map(({ text }) => text);
const local = await HashedEmbedder.fit(texts, { dim: 48 });
const server = await serveRetriever({
  search: async (queries) => queries.map(() => []),
  embedding: { model: "hashed", embedder: local },
  port: 0,
});
after(async () => {
  await server.close();
  local.close();
});

test("the vectors are those of the embedder behind the server, bit for bit and in order", async () => {
  const embedder = remoteEmbedder({
    url: server.url,
    model: "hashed",
    dim: 48,
    maxTexts: 7,
    sendInputType: true,
  });
  assert.deepEqual(await embedder.embedPassages(texts), await local.embedPassages(texts));
  assert.deepEqual(
    await embedder.embedQueries(texts.slice(0, 3)),
    await local.embedQueries(texts.slice(0, 3)),
  );
  assert.deepEqual(await embedder.embedQueries([]), new Float32Array());
});

test("numbers in place of base64 and any order are read; prefixes are put before the texts", async () => {
  await using other = await startFaultServer(({ body }) => {
    const { input } = body as { input: string[] };
    const data = input.map((text, index) => ({
      object: "embedding",
      index,
      embedding: [index, text.length],
    }));
    return { object: "list", data: data.reverse(), model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } };
  });
  const prefixes = { query: "query: ", passage: "passage: " };
  const embedder = remoteEmbedder({ url: other.url, model: "m", dim: 2, prefixes, apiKey: "k" });
  assert.deepEqual(await embedder.embedQueries(["a", "bc"]), Float32Array.of(0, 8, 1, 9));
  assert.deepEqual(await embedder.embedPassages(["a"]), Float32Array.of(0, 10));
  assert.deepEqual(other.asked[0]?.body, {
    input: ["query: a", "query: bc"],
    model: "m",
    encoding_format: "base64",
  });
  assert.deepEqual(
    [other.asked[0]?.url, other.asked[0]?.headers.authorization],
    ["/v1/embeddings", "Bearer k"],
  );
});

test("another width, a missing vector and another model are failures", async () => {
  const wide = remoteEmbedder({ url: server.url, model: "hashed", dim: 64 });
  await assert.rejects(wide.embedQueries(["a"]), {
    code: "ERR_REMOTE",
    message: /expected embeddings of width 64, got 48/,
  });
  const unknown = remoteEmbedder({ url: server.url, model: "bge", dim: 48 });
  await assert.rejects(unknown.embedQueries(["a"]), {
    code: "ERR_REMOTE",
    message: /got 404: .*expected hashed, got bge/,
  });
  const data = [{ index: 0, embedding: [1] }];
  await using few = await startFaultServer(() => ({ data }));
  const embedder = remoteEmbedder({ url: few.url, model: "m", dim: 1 });
  await assert.rejects(embedder.embedQueries(["a", "b"]), { message: /expected 2 embeddings, got 1/ });
  assert.throws(() => remoteEmbedder({ url: few.url, model: "m", dim: 0 }), { code: "ERR_RANGE" });
});
