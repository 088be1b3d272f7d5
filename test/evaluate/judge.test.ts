/** Evaluations with a judge, and with a policy that sometimes has no answer. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { SeekError } from "../../lib/base/errors.ts";
import { evaluate } from "../../lib/evaluate/evaluate.ts";
import type { Verdict } from "../../lib/reward/judge.ts";
import type { Agent } from "../../lib/rollout/agents/agent.ts";

const questions = ["a", "b", "c", "d"].map((id) => ({ id, question: `${id}?`, answers: ["gold"] }));

/** Says what stands under the question's id; nothing for an id that is missing. */
function saying(answers: Readonly<Record<string, string>>): Agent {
  return async ({ id }) => {
    const answer = answers[id];
    return {
      ...{ id: `${id}#0`, questionId: id, turns: 1, segments: [], rounds: 0, queries: [] },
      ...(answer === undefined ? { stop: "eos" as const } : { stop: "answer" as const, answer }),
      ...{ invalidActions: 0, failures: 0, weightsVersion: 0 },
      timings: { generateMs: 1, searchMs: 0, totalMs: 1 },
    };
  };
}

const agent = saying({ a: "gold", b: "golden", c: "unclear" });

/** Right when it begins with gold; cannot say anything about what is unclear. */
async function judge(_: unknown, answer: string): Promise<Verdict> {
  if (answer === "unclear") return { failure: "no judgement in hm" };
  return { isRight: answer.startsWith("gold"), rationale: `it says ${answer}` };
}

test("a judge's share is over what it judged; no answer is wrong unasked, failures are counted", async () => {
  const asked: string[] = [];
  const evaluation = await evaluate({
    questions,
    agent,
    judge: (question, answer) => {
      asked.push(`${question.id}: ${answer}`);
      return judge(question, answer);
    },
  });
  assert.deepEqual(asked, ["a: gold", "b: golden", "c: unclear"]);
  const { em, judge: share, judgeAnswered, judged, judgeFailures, intervals } = evaluation;
  assert.deepEqual([em, share, judgeAnswered, judged, judgeFailures], [1 / 4, 2 / 3, 1, 3, 1]);
  assert.ok(intervals.judge !== null && intervals.judge[0] <= share! && share! <= intervals.judge[1]);
  assert.deepEqual(
    evaluation.perQuestion.map((each) => [each.judge, each.judgeReason, each.judgeFailure]),
    [
      [1, "it says gold", undefined],
      [1, "it says golden", undefined],
      [null, undefined, "no judgement in hm"],
      [0, undefined, undefined],
    ],
  );
  assert.deepEqual((await evaluate({ questions, agent })).judge, null);
});

test("a slow judge holds up neither the questions nor their times, and its verdicts stand in the file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const output = join(folder, "eval.jsonl");
  let atOnce = 0;
  const options = {
    ...{ questions, agent, concurrency: 1, output },
    judge: async (question: unknown, answer: string) => {
      atOnce += 1;
      await setTimeout(100);
      return judge(question, answer);
    },
  };
  const evaluation = await evaluate(options);
  assert.ok(atOnce === 3 && evaluation.secondsPerQuestion < 0.05, `${evaluation.secondsPerQuestion}`);
  const rows = (await readFile(output, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(rows.map(({ judge: right }) => right).sort(), [0, 1, 1, null]);
  const { judge: share, judgeFailures } = await evaluate({ ...options, resume: true });
  assert.deepEqual([share, judgeFailures, atOnce], [2 / 3, 1, 3]);
  await rm(folder, { recursive: true });
});

test("a letter alone counts as the choice that it stands for", async () => {
  const one = { id: "a", question: "Which?", answers: ["gold"], choices: ["tin", "gold"] };
  assert.equal((await evaluate({ questions: [one], agent: saying({ a: "B." }) })).em, 1);
  assert.equal((await evaluate({ questions: [one], agent: saying({ a: "A" }) })).em, 0);
});

function failing(ids: readonly string[]): Agent {
  return async (question, options) => {
    if (ids.includes(question.id)) throw new SeekError("ERR_REMOTE", `no server for ${question.id}`);
    return agent(question, options);
  };
}

test("a question that a server fails on is lost: counted, not scored, and asked again by a resumed run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const output = join(folder, "eval.jsonl");
  const {
    em,
    lost,
    questions: count,
    perQuestion,
  } = await evaluate({ questions, agent: failing(["b", "d"]), output });
  assert.deepEqual([em, count, perQuestion.map(({ id }) => id)], [1 / 2, 2, ["a", "c"]]);
  assert.deepEqual(lost, [
    { set: "questions", id: "b", reason: "no server for b" },
    { set: "questions", id: "d", reason: "no server for d" },
  ]);
  const resumed = await evaluate({ questions, agent, output, resume: true });
  assert.deepEqual([resumed.questions, resumed.lost, resumed.em], [4, [], 1 / 4]);
  assert.equal((await readFile(output, "utf8")).trim().split("\n").length, 4);
  await rm(folder, { recursive: true });
});

test("a server that is gone ends the evaluation; other failures always do", async () => {
  const all = questions.map(({ id }) => id);
  await assert.rejects(evaluate({ questions, agent: failing(all) }), {
    code: "ERR_REMOTE",
    message: /4 questions in a row failed, the last one: no server for d/,
  });
  const many = Array.from({ length: 40 }, (_, i) => ({ id: `q${i}`, question: "?", answers: ["gold"] }));
  let asked = 0;
  const dying: Agent = async (question, options) => {
    asked += 1;
    return asked <= 5 ? agent(question, options) : failing([question.id])(question, options);
  };
  await assert.rejects(evaluate({ questions: many, agent: dying, concurrency: 1 }), { code: "ERR_REMOTE" });
  assert.equal(asked, 5 + 16);
  const broken: Agent = async () => Promise.reject(new SeekError("ERR_MEMORY", "full"));
  await assert.rejects(evaluate({ questions, agent: broken }), { code: "ERR_MEMORY" });
});
