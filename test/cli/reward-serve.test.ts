/** `seekrl reward serve` from outside: it says where it listens, answers, and stops when told. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../project.ts";
import { runCli } from "./run-cli.ts";

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

test("a choice that the recipe does not have is a usage error", async () => {
  assert.equal((await runCli(...args, "--stage", "1")).code, 2);
});
