/** The tools of the Model Context Protocol, in process: the world's agent and scripted ones, the official client. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { IndexCorpus } from "../../../apps/serve/mcp/index-corpus.ts";
import { makeMcpServer } from "../../../apps/serve/mcp/mcp-service.ts";
import type { McpToolParts } from "../../../apps/serve/mcp/parts.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Search } from "../../../lib/search/search.ts";
import { hitOf, recordedSearch } from "../../rollout/doubles.ts";
import { scripted } from "../agent/asking.ts";

const passages = [
  { id: "1", title: "Paris", text: "Paris is the capital of France." },
  { id: "2", title: "Paris", text: "It lies on the Seine." },
  { id: "3", title: "Rome", text: "Rome is the capital of Italy." },
];
const turns = ["<think> hm </think><search> capital of France </search>", "<answer> Paris </answer>"];
const atlas: Search = async (queries) =>
  queries.map(() => [hitOf("Paris", "Paris is the capital of France.")]);

async function connected(t: TestContext, parts: McpToolParts): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server = await makeMcpServer(parts);
  await server.connect(far);
  const client = new Client({ name: "test", version: "1" });
  await client.connect(near);
  t.after(() => client.close());
  return client;
}

function said(result: Awaited<ReturnType<Client["callTool"]>>): string {
  return (result.content as { readonly text?: string }[]).map(({ text }) => text).join("\n");
}

test("there is a tool for each part, with JSON schemas of what it takes and gives", async (t) => {
  const agent = scripted(turns);
  const corpus = new IndexCorpus("nowhere");
  const names = async (parts: McpToolParts) =>
    (await (await connected(t, parts)).listTools()).tools.map(({ name }) => name);
  assert.deepEqual(await names({ search: atlas }), ["search"]);
  assert.deepEqual(await names({ search: atlas, agent, corpus }), [
    "search",
    "read_passage",
    "corpus",
    "ask",
  ]);
  const { tools } = await (await connected(t, { search: atlas, agent })).listTools();
  assert.deepEqual(
    tools.map(({ inputSchema }) => inputSchema.required),
    [["queries"], ["question"]],
  );
  assert.ok(tools.every(({ outputSchema, description }) => outputSchema !== undefined && description !== ""));
});

test("queries find passages, each its own, as text and as data", async (t) => {
  const asked: (readonly string[])[] = [];
  const client = await connected(t, { search: recordedSearch(asked) });
  const result = await client.callTool({ name: "search", arguments: { queries: ["a", "b"] } });
  assert.deepEqual(asked, [["a", "b"]]);
  const found = (query: string) => ({
    query,
    passages: [{ id: query, title: query, text: `about ${query}` }],
  });
  assert.deepEqual(result.structuredContent, { results: [found("a"), found("b")] });
  assert.match(said(result), /# a\n\n\[a\] a\nabout a\n\n# b/);
  const wrong = await client.callTool({ name: "search", arguments: { queries: [] } });
  assert.equal(wrong.isError, true);
});

test("a search that fails or hangs is told as failed, and why is told to the owner alone", async (t) => {
  const faults: string[] = [];
  const onFault = (tool: string, error: unknown) => void faults.push(`${tool}: ${(error as Error).message}`);
  const failing: Search = async () => {
    throw new Error("10.0.0.1 is down");
  };
  const hanging: Search = () => new Promise(() => {});
  const ask = async (search: Search) => {
    const client = await connected(t, { search, onFault, searchTimeoutMs: 20 });
    return client.callTool({ name: "search", arguments: { queries: ["a"] } });
  };
  for (const result of [await ask(failing), await ask(hanging)]) {
    assert.deepEqual([result.isError, said(result)], [true, "search failed."]);
  }
  assert.match(faults.join("\n"), /10\.0\.0\.1 is down\nsearch: .*20 ms/);
});

test("documents are read by title and passages by id, and the corpus says what it holds", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-mcp-"));
  t.after(() => rm(folder, { recursive: true }));
  const out = join(folder, "index");
  await buildIndex({ corpus: passages, out });
  const [search, corpus] = [await openIndex(out), new IndexCorpus(out)];
  t.after(async () => {
    search.close();
    await corpus.close();
  });
  const client = await connected(t, { search, corpus });
  const read = (given: object) => client.callTool({ name: "read_passage", arguments: { ...given } });
  const parts = (...numbers: number[]) =>
    numbers.map((part) => ({ part, id: `${part}`, text: passages[part - 1]?.text }));
  assert.deepEqual((await read({ name: "paris" })).structuredContent, {
    title: "Paris",
    numParts: 2,
    parts: parts(1),
  });
  assert.deepEqual((await read({ name: "2" })).structuredContent, {
    title: "Paris",
    numParts: 2,
    parts: parts(2),
  });
  assert.match(said(await read({ name: "Paris", count: 5 })), /part 1 of 2:[\s\S]*part 2 of 2:/);
  const none = await read({ name: "Lima" });
  assert.deepEqual([none.isError, said(none)], [true, 'There is no document or passage "Lima".']);
  assert.match(said(await read({ name: "Rome", part: 2 })), /no part 2/);
  const described = await client.callTool({ name: "corpus", arguments: {} });
  const { vectors, ...numbers } = described.structuredContent as Record<string, unknown>;
  assert.deepEqual(numbers, { passages: 3, byWords: true });
  assert.equal(typeof vectors, "object");
});

test("a question is answered with its searches and citations, and progress is told meanwhile", async (t) => {
  const agent = scripted(turns, { search: atlas });
  const client = await connected(t, { search: atlas, agent });
  const progress: (string | undefined)[] = [];
  const result = await client.callTool(
    { name: "ask", arguments: { question: "What is the capital of France?" } },
    { onprogress: ({ message }) => void progress.push(message) },
  );
  const source = { id: "Paris", title: "Paris" };
  const quote = "Paris is the capital of France.";
  assert.deepEqual(result.structuredContent, {
    ...{ answer: "Paris", reason: "stop", thoughts: "hm" },
    citations: [{ ...source, quote, start: 0, end: 5 }],
    searches: [{ queries: ["capital of France"], failed: false, passages: [source] }],
  });
  assert.equal(said(result), `Paris\n[Paris] Paris: "${quote}"`);
  assert.deepEqual(progress, ["searches: capital of France", "found: Paris", "answers"]);
});

test("a budget holds, and an agent without an answer says so", async (t) => {
  const client = await connected(t, { search: atlas, agent: scripted(turns, { search: atlas }) });
  const result = await client.callTool({ name: "ask", arguments: { question: "q", maxSearches: 0 } });
  assert.equal(said(result), "No answer was found.");
  assert.equal((result.structuredContent as { reason: string }).reason, "length");
});

test("a call that is cancelled ends the agent's search", async (t) => {
  const signals: (AbortSignal | undefined)[] = [];
  const search: Search = (_, { signal }) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  const client = await connected(t, { search, agent: scripted(turns, { search }) });
  const cancel = new AbortController();
  const asked = client.callTool({ name: "ask", arguments: { question: "q" } }, { signal: cancel.signal });
  while (signals.length === 0) await new Promise((resolve) => setImmediate(resolve));
  cancel.abort("enough");
  await assert.rejects(asked);
  while (signals[0]?.aborted !== true) await new Promise((resolve) => setImmediate(resolve));
});
