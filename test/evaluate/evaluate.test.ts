/** Evaluation over a scripted agent. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { evaluate, evaluateSets } from "../../lib/evaluate/evaluate.ts";
import type { EvaluationProgress } from "../../lib/evaluate/options.ts";
import type { RulesName } from "../../lib/reward/metrics/rules.ts";
import type { Agent } from "../../lib/rollout/agents/agent.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { defaultLimits } from "../../lib/rollout/limits.ts";
import { characters, recordedSearch, ScriptedSequence } from "../rollout/doubles.ts";

const questions = [
  { id: "a", question: "capital of France?", answers: ["Paris"] },
  { id: "b", question: "capital of Italy?", answers: ["Rome", "Roma"] },
  { id: "c", question: "capital of Peru?", answers: ["Lima"] },
];

const scripts: Record<string, readonly string[]> = {
  a: ["<search> France </search>", "<answer> the Paris </answer>"],
  b: ["<answer> Rome Italy </answer>"],
  c: ["I do not know"],
};

const agent: Agent = (question, options) => {
  const engine = { open: () => new ScriptedSequence(...(scripts[question.id] ?? [])) };
  const limits = { ...defaultLimits, maxTurns: 2 - Number(question.id === "c") };
  const parts = {
    tokenizer: characters,
    search: recordedSearch(),
    format: ragFormat("single"),
    sampling: {},
    limits,
  };
  return searchAgent({ ...parts, engine })(question, options);
};

test("the means are over all questions, answered or not", async () => {
  const result = await evaluate({ questions, agent });
  assert.equal(result.em, 1 / 3);
  assert.equal(result.f1, (1 + 2 / 3) / 3);
  assert.deepEqual([result.acc, result.precision, result.recall], [2 / 3, (1 + 1 / 2) / 3, 2 / 3]);
  assert.equal(result.rounds, 1 / 3);
  assert.deepEqual([result.questions, result.failures], [3, 0]);
  assert.ok(result.secondsPerQuestion > 0 && result.latencySeconds > 0);
  assert.deepEqual(
    result.perQuestion.map(({ id, answer, em, stop }) => [id, answer, em, stop]),
    [
      ["a", "the Paris", 1, "answer"],
      ["b", "Rome Italy", 0, "answer"],
      ["c", null, 0, "eos"],
    ],
  );
});

test("format accuracy is the share of answered questions, answer accuracy that of right ones among them", async () => {
  const result = await evaluate({ questions, agent });
  assert.deepEqual([result.formatAccuracy, result.answerAccuracy, result.acc], [2 / 3, 1, 2 / 3]);
  const silent: Agent = async (question) => agent({ ...question, id: "c" });
  const { formatAccuracy, answerAccuracy, intervals } = await evaluate({ questions, agent: silent });
  assert.deepEqual([formatAccuracy, answerAccuracy, intervals.answerAccuracy], [0, null, null]);
});

test("tokens are counted by author, the prompt not at all", async () => {
  const { perQuestion, generatedTokens, observedTokens } = await evaluate({ questions, agent });
  const numPolicy = Object.values(scripts).flat().join("").length;
  assert.equal(Math.round(3 * generatedTokens), numPolicy);
  const observed = perQuestion[0]?.segments.filter(({ kind }) => kind === "observation") ?? [];
  assert.equal(Math.round(3 * observedTokens), observed.map(({ text }) => text).join("").length);
  assert.ok(observedTokens > 0);
});

test("retrieval recall is about the passages that were found, not about queries or answers", async () => {
  const asked = [
    { id: "a", question: "?", answers: ["the about, France!"] },
    { id: "a", question: "?", answers: ["Paris"] },
    { id: "b", question: "?", answers: ["Rome Italy"] },
  ];
  const { perQuestion, retrievalRecall } = await evaluate({ questions: asked, agent });
  assert.deepEqual(
    perQuestion.map((each) => each.retrievalRecall),
    [1, 0, 0],
  );
  assert.equal(retrievalRecall, 1 / 3);
  const half: Agent = async (question, options = {}) => {
    options.onEvent?.({
      type: "documents",
      documents: [[{ title: "", text: "Rome" }], [{ title: "Rome", text: "Oslo" }]],
    });
    return { ...(await agent(question)), rounds: 2 };
  };
  const sought = [...asked.slice(1, 2), { id: "a", question: "?", answers: ["rome"] }];
  const rated = await evaluate({ questions: sought, agent: half });
  assert.deepEqual([rated.retrievalRecall, rated.retrievalPrecision], [0.5, 0.25]);
  const mute: Agent = (question) => agent(question);
  assert.equal((await evaluate({ questions: asked, agent: mute })).perQuestion[0]?.retrievalRecall, null);
  assert.equal((await evaluate({ questions: asked, agent: mute })).retrievalPrecision, null);
});

test("the interval of a figure is around it", async () => {
  const { em, intervals } = await evaluate({ questions, agent, seed: 4 });
  const [low, high] = intervals.em ?? [1, 0];
  assert.ok(low < em && em < high && low >= 0 && high <= 1);
  assert.deepEqual((await evaluate({ questions, agent, seed: 4 })).intervals.f1, intervals.f1);
});

test("several sets are evaluated one by one and together", async () => {
  const sets = [
    { name: "first", questions: questions.slice(0, 1) },
    { name: "rest", questions: questions.slice(1) },
  ];
  const { sets: each, all } = await evaluateSets(sets, { agent });
  assert.deepEqual(
    each.map(({ name, questions: count, em }) => [name, count, em]),
    [
      ["first", 1, 1],
      ["rest", 2, 0],
    ],
  );
  assert.deepEqual([all.questions, all.em], [3, 1 / 3]);
  assert.deepEqual(
    all.perQuestion.map(({ set, index }) => [set, index]),
    [
      ["first", 0],
      ["rest", 0],
      ["rest", 1],
    ],
  );
});

test("the time without batching is that of one question after the other", async () => {
  let [running, most] = [0, 0];
  const asked: string[] = [];
  const slow: Agent = async (question) => {
    asked.push(question.id);
    most = Math.max(most, ++running);
    const trajectory = await agent(question);
    running -= 1;
    return { ...trajectory, timings: { generateMs: 0, searchMs: 0, totalMs: asked.length > 3 ? 2000 : 1 } };
  };
  const { aloneSeconds } = await evaluate({ questions, agent: slow, alone: 2, concurrency: 1 });
  assert.deepEqual([asked, most, aloneSeconds], [["a", "b", "c", "a", "b"], 1, 2]);
  assert.equal((await evaluate({ questions, agent })).aloneSeconds, null);
});

test("answers are scored by the rules of the system that is named", async () => {
  const asked = [{ id: "a", question: "who?", answers: ["Madison James"] }];
  const says: Agent = async (question) => ({ ...(await agent(question)), answer: "James Madison" });
  const accuracy = async (rules: RulesName): Promise<number> => {
    return (await evaluate({ questions: asked, agent: says, rules })).acc;
  };
  assert.deepEqual([await accuracy("flashrag"), await accuracy("r1-searcher")], [0, 1]);
});

test("one JSON line per question is written", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const output = join(folder, "eval.jsonl");
  const { perQuestion } = await evaluate({ questions, agent, output });
  const lines = (await readFile(output, "utf8")).trim().split("\n");
  const rows = lines.map((line) => JSON.parse(line)).sort((a, b) => a.index - b.index);
  assert.deepEqual(
    rows.map(({ settings, digest, ...result }) => result),
    perQuestion,
  );
  await rm(folder, { recursive: true });
});

test("progress is told after every question, and no more run at once than asked for", async () => {
  const told: EvaluationProgress[] = [];
  let [running, most] = [0, 0];
  const counted: Agent = async (question, options) => {
    most = Math.max(most, ++running);
    const trajectory = await agent(question, options);
    running -= 1;
    return trajectory;
  };
  await evaluate({
    questions,
    agent: counted,
    concurrency: 2,
    onProgress: (progress) => told.push(progress),
  });
  assert.deepEqual(
    told.map(({ done, total }) => [done, total]),
    [
      [1, 3],
      [2, 3],
      [3, 3],
    ],
  );
  assert.equal(told.at(-1)?.em, 1 / 3);
  assert.equal(most, 2);
});

test("an aborted evaluation rejects", async () => {
  const abort = new AbortController();
  const onProgress = (): void => abort.abort();
  const evaluation = evaluate({ questions, agent, concurrency: 1, onProgress, signal: abort.signal });
  await assert.rejects(evaluation, { code: "ERR_ABORTED" });
});

test("no questions are a mistake", async () => {
  await assert.rejects(evaluate({ questions: [], agent }), { code: "ERR_ARGUMENT" });
});
