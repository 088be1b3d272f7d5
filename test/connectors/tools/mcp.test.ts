/** Servers of the Model Context Protocol: real ones, in processes of their own. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, test } from "node:test";
import { McpServer } from "../../../connectors/tools/mcp/server.ts";
import { type ToolResult, toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { startFaultServer } from "../remote/fault-server.ts";
import { projectRoot } from "../../project.ts";

const script = join(projectRoot, "dist", "test", "connectors", "tools", "mcp-server.js");
const place = { command: process.execPath, args: [script], env: { SECRET: "known" } };

const started: ChildProcess[] = [];
after(() => {
  for (const each of started) each.kill();
});

async function startHttp(
  mode: "http" | "sessions",
  at = "",
): Promise<{ url: string; process: ChildProcess }> {
  const port_ = at === "" ? [] : [new URL(at).port];
  const process_ = spawn(process.execPath, [script, mode, ...port_], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(process_);
  const [port] = await once(process_.stdout, "data");
  return { url: `http://127.0.0.1:${String(port).trim()}/mcp`, process: process_ };
}

function asking(server: McpServer, timeoutMs = 10_000) {
  const { run } = toolBox(server.tools, { timeoutMs });
  return async (name: string, input: unknown = {}): Promise<ToolResult> => {
    const [result] = await run([{ name, input, text: "" }]);
    assert.ok(result);
    return result;
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a server's tools are listed with their schemas, called in parallel, and its process ends with it", async () => {
  const server = await McpServer.open(place);
  const [add] = server.tools;
  assert.equal(add?.description, "Adds two numbers.");
  assert.deepEqual(add?.inputSchema.required, ["a", "b"]);
  const { run } = toolBox(server.tools, { timeoutMs: 1500 });
  const results = await run([
    { name: "add", input: { a: 2, b: 3 }, text: "" },
    { name: "hang", input: {}, text: "" },
    { name: "add", input: { a: 0.5, b: 1 }, text: "" },
    { name: "show", input: {}, text: "" },
    { name: "pid", input: { variable: "SECRET" }, text: "" },
    { name: "fail", input: { why: "no reason" }, text: "" },
  ]);
  assert.deepEqual(
    results.map(({ text, failure }) => [text, failure?.kind]),
    [
      ["5", undefined],
      ["Error: hang: no result within 1500 ms", "timed out"],
      ["1.5", undefined],
      ["a dot\n[image image/png]", undefined],
      ["known", undefined],
      ["Error: fail: no reason", "failed"],
    ],
  );
  const pid = Number((await asking(server)("pid")).text);
  assert.ok(isAlive(pid));
  await server.close();
  assert.ok(!isAlive(pid));
  assert.match((await asking(server)("pid")).text, /closed/);
});

test("an input that the server's schema refuses is not sent, and names field, expected and actual", async () => {
  await using server = await McpServer.open(place, { only: ["add"] });
  const { text, failure } = await asking(server)("add", { a: "two" });
  assert.equal(failure?.kind, "invalid input");
  assert.match(text, /add: input must have required property 'b', a must be number, got \{"a":"two"\}/);
  assert.equal((await asking(server)("add", 3)).failure?.kind, "invalid input");
});

test("a server that crashes fails the calls under way, and the next call starts it anew", async () => {
  await using server = await McpServer.open(place);
  const ask = asking(server);
  const first = (await ask("pid")).text;
  const [crash, hang] = await Promise.all([ask("crash"), ask("hang")]);
  for (const { failure } of [crash, hang]) {
    assert.equal(failure?.kind, "failed");
    assert.match(failure?.message ?? "", /MCP server .*mcp-server\.js: .*it said: out of luck/s);
  }
  const second = (await ask("pid")).text;
  assert.match(second, /^\d+$/);
  assert.notEqual(second, first);
});

test("a server that does not start says why, and so does one without a wanted tool", async () => {
  const broken = { command: process.execPath, args: [script, "broken"] };
  await assert.rejects(McpServer.open(broken), { code: "ERR_REMOTE", message: /it said: no licence/ });
  await assert.rejects(McpServer.open({ command: "no-such-program" }), { code: "ERR_REMOTE" });
  const nobody = { code: "ERR_REMOTE", message: "MCP server http://localhost:1/mcp: bad port" };
  await assert.rejects(McpServer.open({ url: "http://localhost:1/mcp" }), nobody);
  await using other = await startFaultServer(() => ({ answer: 42 }));
  await assert.rejects(McpServer.open({ url: other.url }), {
    message: /expected an answer of the Model Context/,
  });
  await assert.rejects(McpServer.open({ url: "nonsense" }), { code: "ERR_ARGUMENT" });
  await assert.rejects(McpServer.open(place, { only: ["subtract"] }), {
    code: "ERR_ARGUMENT",
    message: /it has no tool "subtract"; it has add, fail/,
  });
});

test("a server with an address is called with its headers, and may come back", async () => {
  const headers = { Authorization: "Bearer let-me-in" };
  for (const mode of ["http", "sessions"] as const) {
    const { url, process: running } = await startHttp(mode);
    await assert.rejects(McpServer.open({ url }), { code: "ERR_REMOTE" });
    await using server = await McpServer.open({ url, headers }, { prefix: "far_" });
    const ask = asking(server, 2000);
    assert.equal((await ask("far_add", { a: 1, b: 1 })).text, "2");
    assert.equal((await ask("far_hang")).failure?.kind, "timed out");
    running.kill("SIGKILL");
    await once(running, "exit");
    assert.equal((await ask("far_add", { a: 1, b: 1 })).failure?.kind, "failed");
    await startHttp(mode, url);
    // One that keeps sessions has forgotten ours, and says so to the first call.
    if (mode === "sessions") await ask("far_add", { a: 1, b: 1 });
    assert.equal((await ask("far_add", { a: 1, b: 2 })).text, "3", mode);
  }
});

test("a server has the variables that it is given and a list of the parent's, no secret among them", async () => {
  process.env.SEEKRL_TEST_SECRET = "mine";
  const server = await McpServer.open(place);
  const ask = asking(server);
  const said = async (variable: string) => (await ask("pid", { variable })).text;
  assert.deepEqual([await said("SEEKRL_TEST_SECRET"), await said("SECRET")], ["unset", "known"]);
  assert.equal(await said("PATH"), process.env.PATH);
  await server.close();
});
