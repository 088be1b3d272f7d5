/** The client sends what each published server reads and understands what it answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitContents } from "../../../connectors/remote/remote-hit.ts";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { retrieveReply, startFaultServer } from "./fault-server.ts";

test("the request of RAG-R1's and Search-R1's client goes out, and scored documents come back as hits", async () => {
  await using server = await startFaultServer(retrieveReply);
  const search = remoteSearch({ url: server.url });
  const hits = await search(["a", "b"], { topK: 2 });
  assert.deepEqual(
    server.asked.map(({ method, url, body }) => [method, url, body]),
    [["POST", "/retrieve", { queries: ["a", "b"], topk: 2, return_scores: true }]],
  );
  assert.deepEqual(hits[1], [
    { id: "0", title: "Title 0", text: "about b", score: 1 },
    { id: "1", title: "Title 1", text: "about b", score: 0.9 },
  ]);
});

test("documents without scores, in one string, or with title and text are read too", async () => {
  const result = [
    [
      { id: "x", contents: '"Paris"\nA city.' },
      "Rome   Another city.",
      { document: { id: 7, title: "Oslo", text: "A third." } },
      { document: { id: 8, title: "Bern", text: "A fourth.", contents: '"Bern"\nA fourth.' }, score: 0.5 },
    ],
  ];
  await using server = await startFaultServer(() => ({ result }));
  const [hits = []] = await remoteSearch({ url: server.url })(["q"], { topK: 9 });
  assert.deepEqual(
    hits.map(({ title, text }) => [title, text]),
    [
      ["Paris", "A city."],
      ["Rome", "Another city."],
      ["Oslo", "A third."],
      ["Bern", "A fourth."],
    ],
  );
  assert.deepEqual(
    hits.map(({ score }) => score),
    [1, 1 / 2, 1 / 3, 0.5],
  );
  assert.deepEqual([hits[0]?.id, hits[2]?.id], ["x", "7"]);
  assert.match(hits[1]?.id ?? "", /^[0-9a-f]{16}$/);
});

test("ReSearch's routes are asked in its words, one query at a time on /search", async () => {
  await using server = await startFaultServer(({ url, body }) => {
    const { query } = body as { query: string | string[] };
    const documents = (one: string) => [{ id: `${one}1`, contents: `T\n${one}` }];
    if (url === "/search") return [documents(query as string), [0.25]];
    return [(query as string[]).map(documents), (query as string[]).map(() => [0.75])];
  });
  const batch = await remoteSearch({ url: server.url, protocol: "batch_search" })(["a", "b"], { topK: 5 });
  const single = await remoteSearch({ url: server.url, protocol: "search" })(["a", "b"], { topK: 5 });
  assert.deepEqual(batch.flat()[1], { id: "b1", title: "T", text: "b", score: 0.75 });
  assert.deepEqual(single.flat()[1], { id: "b1", title: "T", text: "b", score: 0.25 });
  assert.deepEqual(server.asked.map(({ url, body }) => [url, body]).sort(), [
    ["/batch_search", { query: ["a", "b"], top_n: 5, return_score: true }],
    ["/search", { query: "a", top_n: 5, return_score: true }],
    ["/search", { query: "b", top_n: 5, return_score: true }],
  ]);
});

test("ReSearch's answers without scores are read as well", async () => {
  await using server = await startFaultServer(() => [[{ id: "1", contents: "T\nx" }], []]);
  const [first, second] = await remoteSearch({ url: server.url, protocol: "batch_search" })(["a", "b"], {
    topK: 5,
  });
  assert.deepEqual([first, second], [[{ id: "1", title: "T", text: "x", score: 1 }], []]);
});

test("R1-Searcher's server is asked with k and answers plain texts", async () => {
  await using server = await startFaultServer(({ body }) => {
    const { queries } = body as { queries: string[] };
    return { queries, answers: queries.map((query) => [`Title   about ${query}\n`]) };
  });
  const [hits] = await remoteSearch({ url: server.url, protocol: "queries" })(["a"], { topK: 3 });
  assert.deepEqual(server.asked[0]?.body, { queries: ["a"], k: 3 });
  assert.deepEqual(
    hits?.map(({ title, text, score }) => [title, text, score]),
    [["Title", "about a", 1]],
  );
});

test("an address with a path is asked as it stands, and more documents than wanted are cut", async () => {
  await using server = await startFaultServer(() => ({ result: [["a", "b", "c"]] }));
  const [hits] = await remoteSearch({ url: `${server.url}/v1/find?index=7` })(["q"], { topK: 2 });
  assert.equal(server.asked[0]?.url, "/v1/find?index=7");
  assert.equal(hits?.length, 2);
});

test("contents are split at the first line or at three spaces, and quotes around the title fall", () => {
  assert.deepEqual(splitContents("no title here"), { title: "", text: "no title here" });
  assert.deepEqual(splitContents('"A "quoted" name"\ntext\nmore'), {
    title: 'A "quoted" name',
    text: "text\nmore",
  });
  assert.deepEqual(splitContents("Title\r\ntext"), { title: "Title", text: "text" });
  assert.deepEqual(splitContents("Title   text   more\n"), { title: "Title", text: "text   more" });
});
