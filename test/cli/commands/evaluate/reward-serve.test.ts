/** `seekrl reward serve` from outside: it says where it listens, answers, and stops when told. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli, runCliWith, startServing } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const questions = join(folder, "questions.jsonl");
await writeFile(questions, '{"question": "Capital of Italy?", "answers": ["Rome"]}\n');
const args = ["reward", "serve", "--questions", questions];

test("a recipe's reward is served until the command is told to stop, which is no failure", async (t) => {
  const log = join(folder, "scored.jsonl");
  await writeFile(log, '{"text": "of before"}\n');
  const { call, url } = await startServing(t, [...args, "--log", log]);
  const query = ["Question: capital of Italy?\n<answer> Rome </answer>"];
  const answer = await fetch(`${url}/get_reward`, { method: "POST", body: JSON.stringify({ query }) });
  assert.deepEqual(await answer.json(), { rewards: [1] });
  assert.equal((await call.interrupt()).code, 0);
  const lines = (await readFile(log, "utf8")).trim().split("\n");
  const scored = { text: query[0], question: "Capital of Italy?", reward: 1 };
  assert.deepEqual(
    lines.map((each) => JSON.parse(each)),
    [{ text: "of before" }, scored],
  );
});

test("it stops within its grace though an upload has stalled; the key is asked for", async (t) => {
  const grace = [...args, "--grace-ms", "100"];
  const { call, url } = await startServing(t, grace, { env: { SEEKRL_API_KEY: "k" } });
  assert.equal((await fetch(`${url}/get_reward`, { method: "POST", body: "{}" })).status, 401);
  const { hostname, port } = new URL(url);
  const stalled = connect(Number(port), hostname).on("error", () => {});
  const head =
    "POST /get_reward HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Length: 9\r\n\r\n{";
  await new Promise((resolve) => stalled.write(head, resolve));
  assert.equal((await call.interrupt()).code, 0);
});

test("an empty key, and an address for everybody without one, are refused", async () => {
  const calls = [
    runCliWith({ SEEKRL_API_KEY: "" }, ...args, "--port", "0"),
    runCli(...args, "--port", "0", "--host", "0.0.0.0"),
  ];
  for (const { code, stderr } of await Promise.all(calls)) {
    assert.equal(code, 1);
    assert.match(stderr, /^ERR_ARGUMENT: .*--open/);
  }
});

test("a choice that the recipe does not have is a usage error", async () => {
  assert.equal((await runCli(...args, "--recipe", "rag-r1,stage=1")).code, 2);
});
