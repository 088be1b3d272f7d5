/** `seekrl mcp serve` over standard input and output and over HTTP, asked by the official client and our own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { serveMcpOverHttp } from "../../../apps/serve/mcp/mcp-service.ts";
import { McpServer } from "../../../connectors/tools/mcp/server.ts";
import { toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { startServing } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";
import { recordedSearch } from "../../rollout/doubles.ts";
import { scripted } from "../agent/asking.ts";
import { checkpoint } from "../model/served.ts";

const args = ["mcp", "serve", "--model", checkpoint];
const question = "Who directed Nightwinter?";

test("a client starts it, asks the world's agent over standard input and output, and ends it", async (t) => {
  const client = new Client({ name: "test", version: "1" });
  const program = [join(projectRoot, "bin", "seekrl.mjs"), ...args];
  const command = { command: process.execPath, args: program, stderr: "inherit" } as const;
  const transport = new StdioClientTransport(command);
  await client.connect(transport, { timeout: 60_000 });
  t.after(() => client.close());
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ["search", "ask"],
  );
  const progress: (string | undefined)[] = [];
  const result = await client.callTool(
    { name: "ask", arguments: { question } },
    { onprogress: ({ message }) => void progress.push(message), timeout: 60_000 },
  );
  const answer = result.structuredContent as {
    readonly answer: string;
    readonly citations: { readonly quote: string }[];
  };
  assert.equal(answer.answer, "Loromos");
  assert.match(answer.citations[0]?.quote ?? "", /Directed by Loromos/);
  assert.match(progress[0] ?? "", /^searches: who directed Nightwinter/);
});

test("over HTTP it asks for the key, answers with progress, and stops when it is told to", async (t) => {
  const { url, call } = await startServing(t, args, { env: { SEEKRL_API_KEY: "let-me-in" } });
  const refused = await fetch(url, { method: "POST", body: "{}" });
  assert.equal(refused.status, 401);
  const requestInit = { headers: { authorization: "Bearer let-me-in" } };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  t.after(() => client.close());
  const progress: (string | undefined)[] = [];
  const result = await client.callTool(
    { name: "ask", arguments: { question } },
    { onprogress: ({ message }) => void progress.push(message), timeout: 60_000 },
  );
  assert.equal((result.structuredContent as { readonly answer: string }).answer, "Loromos");
  assert.equal(progress.at(-1), "answers");
  assert.equal((await call.interrupt()).code, 0);
});

test("an agent of ours can use what it serves, and other machines' pages cannot", async (t) => {
  const parts = { search: recordedSearch(), agent: scripted(["<answer> yes </answer>"]) };
  const server = await serveMcpOverHttp(parts, { port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  await using tools = await McpServer.open({ url: `${server.url}/mcp` });
  const { run } = toolBox(tools.tools);
  const [found, answered] = await run([
    { name: "search", input: { queries: ["Rome"] }, text: "" },
    { name: "ask", input: { question: "q" }, text: "" },
  ]);
  assert.match(found?.text ?? "", /about Rome/);
  assert.equal(answered?.text, "yes");
  const headers = { origin: "https://evil.example", "content-type": "application/json" };
  const page = await fetch(`${server.url}/mcp`, { method: "POST", headers, body: "{}" });
  assert.equal(page.status, 403);
  assert.equal((await fetch(`${server.url}/health`)).status, 200);
  const huge = await fetch(`${server.url}/mcp`, { method: "POST", body: "x".repeat(5 * 2 ** 20) });
  assert.equal(huge.status, 413);
});
