/** The requests of the published systems' clients, as those write them, and the answers byte for byte. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { get, post, type quickSearch, served, smallEmbedder } from "./doubles.ts";

test("RAG-R1's and Search-R1's client gets documents with scores, `contents` with the title in its first line", async (t) => {
  const server = await served(t);
  const payload = { queries: ["who", "where"], topk: 2, return_scores: true };
  const { status, headers, text } = await post(server, "/retrieve", payload);
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "application/json");
  const list = (query: string): string =>
    `[{"document":{"id":"0","contents":"\\"Title 0\\"\\nüber ${query}"},"score":1},` +
    `{"document":{"id":"1","contents":"\\"Title 1\\"\\nüber ${query}"},"score":0.5}]`;
  assert.equal(text, `{"result":[${list("who")},${list("where")}]}`);
  // What the client makes of it: the title is the first line of the contents, the passage what follows.
  const { result } = JSON.parse(text) as { result: { document: { contents: string } }[][] };
  const [title, ...rest] = result[0]?.[0]?.document.contents.split("\n") ?? [];
  assert.deepEqual([title, rest.join("\n")], ['"Title 0"', "über who"]);
});

test("without scores /retrieve answers plain documents, and without topk as many as the server says", async (t) => {
  const server = await served(t, { topK: 1 });
  const expected = '{"result":[[{"id":"0","contents":"\\"Title 0\\"\\nüber who"}]]}';
  for (const payload of [{ queries: ["who"] }, { queries: ["who"], topk: null, return_scores: false }])
    assert.equal((await post(server, "/retrieve", payload)).text, expected);
});

test("a turn in which no agent searches asks for nothing and gets nothing", async (t) => {
  const server = await served(t);
  const payload = { queries: [], topk: 3, return_scores: true };
  assert.equal((await post(server, "/retrieve", payload)).text, '{"result":[]}');
  assert.equal((await post(server, "/batch_search", { query: [], top_n: 5 })).text, "[]");
});

test("ReSearch's training client gets lists of documents from /batch_search", async (t) => {
  const server = await served(t);
  const { status, text } = await post(server, "/batch_search", { query: ["a", "b"], top_n: 1 });
  assert.equal(status, 200);
  const documents = (query: string): string => `[{"id":"0","contents":"\\"Title 0\\"\\nüber ${query}"}]`;
  assert.equal(text, `[${documents("a")},${documents("b")}]`);
});

test("FlashRAG's remote retriever gets documents and scores apart", async (t) => {
  const server = await served(t);
  const one = await post(server, "/search", { query: "a", top_n: 2, return_score: true });
  const many = await post(server, "/batch_search", { query: ["a"], top_n: 2, return_score: true });
  const documents =
    '[{"id":"0","contents":"\\"Title 0\\"\\nüber a"},{"id":"1","contents":"\\"Title 1\\"\\nüber a"}]';
  assert.equal(one.text, `[${documents},[1,0.5]]`);
  assert.equal(many.text, `[[${documents}],[[1,0.5]]]`);
});

test("/search answers ten documents unless told otherwise, and refuses a blank query as the original does", async (t) => {
  const server = await served(t);
  const { json } = await post(server, "/search", { query: "a" });
  assert.equal((json as unknown[]).length, 10);
  for (const query of ["", " \n\t"]) {
    const { status, text } = await post(server, "/search", { query });
    assert.deepEqual([status, text], [400, '{"detail":"Query content cannot be empty"}']);
  }
});

test("/health says what FlashRAG's does", async (t) => {
  const { status, text } = await get(await served(t), "/health");
  assert.deepEqual([status, text], [200, '{"status":"healthy","retrievers":{"total":1,"available":1}}']);
});

test("R1-Searcher's client gets its queries and texts of title, three spaces, passage", async (t) => {
  const server = await served(t);
  const { status, text } = await post(server, "/queries", { queries: ["a", "b"], k: 2 });
  assert.equal(status, 200);
  const answers = (query: string): string => `["Title 0   über ${query}","Title 1   über ${query}"]`;
  assert.equal(text, `{"queries":["a","b"],"answers":[${answers("a")},${answers("b")}]}`);
});

test("one form of contents can be had for every protocol, and a passage without a title is its text", async (t) => {
  const search: typeof quickSearch = async () => [[{ id: "7", title: "", text: "text", score: 1 }]];
  const bare = await served(t, { search });
  assert.equal(
    (await post(bare, "/queries", { queries: ["a"] })).text,
    '{"queries":["a"],"answers":[["text"]]}',
  );
  const spaced = await served(t, { contents: "spaced", topK: 1 });
  assert.match((await post(spaced, "/retrieve", { queries: ["a"] })).text, /"contents":"Title 0 {3}über a"/);
});

test("blank queries of a batch have no passages where the server is told so", async (t) => {
  const server = await served(t, { blankQueries: "answer" });
  const { json } = await post(server, "/batch_search", { query: ["", "a", " "], top_n: 1 });
  assert.deepEqual(
    (json as unknown[][]).map((documents) => documents.length),
    [0, 1, 0],
  );
  assert.equal((await post(server, "/search", { query: "" })).status, 400);
});

test("a client of HTTP/1.0 without keep-alive, content type or length is served", async (t) => {
  const server = await served(t);
  const text = await new Promise<string>((resolve, reject) => {
    const options = { port: server.port, host: server.host, path: "/retrieve", method: "POST", agent: false };
    const asked = request(options, (answer) => {
      let body = "";
      answer.on("data", (part) => {
        body += part;
      });
      answer.on("end", () => resolve(body));
    });
    asked.on("error", reject);
    asked.write('{"queries":');
    asked.end('["a"],"topk":1}');
  });
  assert.equal(text, '{"result":[[{"id":"0","contents":"\\"Title 0\\"\\nüber a"}]]}');
});

const embedding = { model: "small", embedder: smallEmbedder };

test("usage counts the tokens that an embedder reads in the role that was asked for", async (t) => {
  const countTokens = (text: string, role: "passage" | "query"): number =>
    text.length + (role === "query" ? 100 : 0);
  const server = await served(t, {
    embedding: { model: "small", embedder: { ...smallEmbedder, countTokens } },
  });
  const used = async (input_type: string): Promise<unknown> => {
    const { json } = await post(server, "/v1/embeddings", { input: ["ab", "c"], model: "small", input_type });
    return (json as { usage: { total_tokens: number } }).usage.total_tokens;
  };
  assert.deepEqual([await used("passage"), await used("query")], [3, 203]);
});

test("OpenAI's client gets embeddings of one text or several, as numbers or as base64", async (t) => {
  const server = await served(t, { embedding });
  const floats = await post(server, "/v1/embeddings", { input: ["ab", "abc d"], model: "small" });
  assert.equal(
    floats.text,
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[2,0.5]},' +
      '{"object":"embedding","index":1,"embedding":[5,0.5]}],' +
      '"model":"small","usage":{"prompt_tokens":3,"total_tokens":3}}',
  );
  const packed = await post(server, "/v1/embeddings", {
    input: "ab",
    model: "small",
    encoding_format: "base64",
  });
  const { data } = packed.json as { data: { embedding: string }[] };
  const bytes = Buffer.from(data[0]?.embedding ?? "", "base64");
  assert.deepEqual([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length], [2, 0.5, 8]);
});

test("queries are embedded as such when the request says so", async (t) => {
  const server = await served(t, { embedding });
  const { json } = await post(server, "/v1/embeddings", { input: "ab", model: "small", input_type: "query" });
  assert.deepEqual((json as { data: { embedding: number[] }[] }).data[0]?.embedding, [2, -0.5]);
});

test("/v1/models names the model; without an embedder there is none, and no embeddings", async (t) => {
  const [having, lacking] = [await served(t, { embedding }), await served(t)];
  const models = (await get(having, "/v1/models")).json as { data: { id: string; object: string }[] };
  assert.deepEqual([models.data[0]?.id, models.data[0]?.object], ["small", "model"]);
  assert.deepEqual((await get(lacking, "/v1/models")).json, { object: "list", data: [] });
  assert.equal((await post(lacking, "/v1/embeddings", { input: "a", model: "small" })).status, 404);
});

test("/v1/embeddings refuses what it cannot do, in OpenAI's words", async (t) => {
  const server = await served(t, { embedding });
  const bad: [object, number, string | null][] = [
    [{ input: "a", model: "other" }, 404, "model"],
    [{ input: ["a", 5], model: "small" }, 400, "input"],
    [{ input: "", model: "small" }, 400, "input"],
    [{ input: [], model: "small" }, 400, "input"],
    [{ input: [[1, 2]], model: "small" }, 400, "input"],
    [{ input: "a", model: "small", dimensions: 3 }, 400, "dimensions"],
    [{ input: "a", model: "small", encoding_format: "int8" }, 400, "encoding_format"],
  ];
  for (const [body, status, param] of bad) {
    const answer = await post(server, "/v1/embeddings", body);
    const { error } = answer.json as { error: { param: string; type: string; message: string } };
    assert.deepEqual([answer.status, error.param, error.type], [status, param, "invalid_request_error"]);
  }
});
