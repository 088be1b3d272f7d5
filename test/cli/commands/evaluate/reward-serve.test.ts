/** `seekrl reward serve` from outside: it says where it listens, answers, and stops when told. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const questions = join(folder, "questions.jsonl");
await writeFile(questions, '{"question": "Capital of Italy?", "answers": ["Rome"]}\n');
const args = ["reward", "serve", "--questions", questions, "--port", "0"];

test("a recipe's reward is served until the command is told to stop, which is no failure", async () => {
  const program = join(projectRoot, "bin", "seekrl.mjs");
  const log = join(folder, "scored.jsonl");
  await writeFile(log, '{"text": "of before"}\n');
  const child = spawn(process.execPath, [program, ...args, "--log", log, "--json"]);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { url } = JSON.parse(String(line)) as { url: string };
  const query = ["Question: capital of Italy?\n<answer> Rome </answer>"];
  const answer = await fetch(`${url}/get_reward`, { method: "POST", body: JSON.stringify({ query }) });
  assert.deepEqual(await answer.json(), { rewards: [1] });
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null]);
  const lines = (await readFile(log, "utf8")).trim().split("\n");
  const scored = { text: query[0], question: "Capital of Italy?", reward: 1 };
  assert.deepEqual(
    lines.map((each) => JSON.parse(each)),
    [{ text: "of before" }, scored],
  );
});

test("SIGTERM ends it within its grace though an upload has stalled; the key is asked for", async () => {
  const program = join(projectRoot, "bin", "seekrl.mjs");
  const env = { ...process.env, SEEKRL_API_KEY: "k" };
  const child = spawn(process.execPath, [program, ...args, "--grace-ms", "100", "--json"], { env });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const { url, host, port } = JSON.parse(String(line)) as { url: string; host: string; port: number };
  assert.equal((await fetch(`${url}/get_reward`, { method: "POST", body: "{}" })).status, 401);
  const stalled = connect(port, host).on("error", () => {});
  const head =
    "POST /get_reward HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k\r\nContent-Length: 9\r\n\r\n{";
  stalled.write(head, () => child.kill("SIGTERM"));
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("an empty key, and an address for everybody without one, are refused", async () => {
  for (const [key, ...flags] of [[""], [undefined, "--host", "0.0.0.0"]] as const) {
    const env = { ...process.env, SEEKRL_API_KEY: key };
    const child = spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...args, ...flags], {
      env,
    });
    const said: string[] = [];
    child.stderr.on("data", (part) => said.push(String(part)));
    assert.equal((await once(child, "close"))[0], 1);
    assert.match(said.join(""), /^ERR_ARGUMENT: .*--open/);
  }
});

test("a choice that the recipe does not have is a usage error", async () => {
  assert.equal((await runCli(...args, "--recipe", "rag-r1,stage=1")).code, 2);
});
