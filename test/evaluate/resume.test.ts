/** Evaluations that were stopped and go on. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { lockFile } from "../../lib/base/files/folder-lock.ts";
import { evaluate } from "../../lib/evaluate/evaluate.ts";
import type { Agent } from "../../lib/rollout/agents/agent.ts";
import { projectRoot } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const program = join(projectRoot, "dist", "test", "evaluate", "slow-evaluation.js");

function start(file: string, ms: number): { child: ChildProcess; output: Promise<string> } {
  const child = spawn(process.execPath, [program, file, String(ms)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout?.on("data", (chunk) => {
    text += chunk;
  });
  return { child, output: new Promise((resolve) => child.on("close", () => resolve(text))) };
}

const linesOf = async (file: string): Promise<string[]> =>
  (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");

test("an evaluation that is killed goes on where it was, and ends with the same figures", async () => {
  const [whole, killed] = [join(folder, "whole.jsonl"), join(folder, "killed.jsonl")];
  const expected = await start(whole, 0).output;
  const { child, output } = start(killed, 30);
  while ((await linesOf(killed)).length < 15) await setTimeout(5);
  child.kill("SIGKILL");
  assert.equal(await output, "");
  const before = await linesOf(killed);
  assert.ok(before.length < 60, `${before.length} questions were finished`);
  // What a kill in the midst of a write leaves.
  await appendFile(killed, before[0]?.slice(0, 40) ?? "");
  assert.equal(await start(killed, 0).output, expected);
  const after = await linesOf(killed);
  assert.deepEqual([after.length, after.slice(0, before.length)], [60, before]);
});

const questions = ["a", "b", "c"].map((id) => ({ id, question: `${id}?`, answers: ["x"] }));

function counting(asked: string[]): Agent {
  return async ({ id }) => {
    asked.push(id);
    return {
      ...{ id: `${id}#0`, questionId: id, turns: 1, stop: "answer", answer: "x", segments: [] },
      ...{ rounds: 0, queries: [], invalidActions: 0, failures: 0, weightsVersion: 0 },
      timings: { generateMs: 1, searchMs: 0, totalMs: 1 },
    };
  };
}

test("what an earlier run finished is not asked again, and without resuming all is", async () => {
  const output = join(folder, "twice.jsonl");
  const asked: string[] = [];
  const agent = counting(asked);
  await evaluate({ questions: questions.slice(0, 2), agent, output });
  await evaluate({ questions, agent, output, resume: true });
  assert.deepEqual(asked, ["a", "b", "c"]);
  await evaluate({ questions, agent, output });
  assert.deepEqual([asked.length, (await linesOf(output)).length], [6, 3]);
});

test("a run of other settings, questions or contents is not gone on with", async () => {
  const output = join(folder, "other.jsonl");
  const agent = counting([]);
  await evaluate({ questions, agent, output, settings: { model: "a" } });
  const before = await linesOf(output);
  const again = { questions, agent, output, resume: true };
  await assert.rejects(evaluate({ ...again, settings: { model: "b" } }), {
    code: "ERR_FORMAT",
    message: /other\.jsonl:1: expected "settings": "[0-9a-f]{16}", as the options given now have it/,
  });
  const turned = [...questions].reverse();
  await assert.rejects(evaluate({ ...again, questions: turned, settings: { model: "a" } }), {
    code: "ERR_ARGUMENT",
    message: /expected "a" as number 0 of questions, as in the run to be resumed, got "c"/,
  });
  assert.deepEqual(await linesOf(output), before);
  await writeFile(output, "no result\n");
  await assert.rejects(evaluate(again), { code: "ERR_FORMAT", message: /other\.jsonl:1: expected JSON/ });
});

test("a stopped evaluation keeps what was finished", async () => {
  const output = join(folder, "stopped.jsonl");
  const stop = new AbortController();
  const asked: string[] = [];
  const options = { questions, agent: counting(asked), output, concurrency: 1 };
  const stopped = evaluate({ ...options, onProgress: () => stop.abort(), signal: stop.signal });
  await assert.rejects(stopped, { code: "ERR_ABORTED" });
  assert.equal((await linesOf(output)).length, asked.length);
});

test("a file that cannot be written fails the evaluation", async () => {
  const output = join(folder, "twice.jsonl", "inside.jsonl");
  await assert.rejects(evaluate({ questions, agent: counting([]), output }), { code: "ERR_IO" });
});

test("a line that was changed is refused by its number, and a file that another process writes by its holder", async () => {
  const output = join(folder, "changed.jsonl");
  await evaluate({ questions, agent: counting([]), output });
  const text = await readFile(output, "utf8");
  await writeFile(output, text.replace('"em":1,', '"em":0,'));
  const again = { questions, agent: counting([]), output, resume: true };
  await assert.rejects(evaluate(again), {
    code: "ERR_FORMAT",
    message: /changed\.jsonl:1: expected "digest"/,
  });
  await writeFile(output, text);
  using _lock = await lockFile(output);
  await assert.rejects(evaluate(again), {
    code: "ERR_STATE",
    message: /changed\.jsonl\.lock: locked by process/,
  });
});
