/** What an evaluation cannot be given is refused by name, not answered with other figures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluate } from "../../lib/evaluate/evaluate.ts";
import type { EvaluateOptions } from "../../lib/evaluate/options.ts";
import { Model } from "../../lib/model/model.ts";
import { scoreAnswer } from "../../lib/reward/metrics/rules.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { openIndex } from "../../lib/search/index-folder/open.ts";

const trajectory: Trajectory = {
  ...{
    id: "a#0",
    questionId: "a",
    segments: [],
    turns: 1,
    stop: "answer",
    answer: "x",
    rounds: 0,
    queries: [],
  },
  ...{ invalidActions: 0, failures: 0, weightsVersion: 0 },
  timings: { generateMs: 0, searchMs: 0, totalMs: 0 },
};
const asked = { questions: [{ id: "a", question: "q", answers: ["x"] }], agent: async () => trajectory };
const evaluated = (change: object) => evaluate({ ...asked, ...change } as EvaluateOptions);

test("numbers, rules, questions and verdicts that cannot be", async () => {
  for (const change of [{ concurrency: Number.NaN }, { concurrency: 0 }, { alone: -1 }, { seed: 0.5 }])
    await assert.rejects(evaluated(change), { code: "ERR_RANGE" });
  await assert.rejects(evaluated({ rules: "zz" }), { code: "ERR_ARGUMENT", message: /rules: expected "/ });
  for (const wrong of [5, { question: "q" }, { id: "a", question: "q", answers: "x" }])
    await assert.rejects(evaluated({ questions: [wrong] }), {
      code: "ERR_ARGUMENT",
      message: /questions\[0\]: expected \{id, question, answers\}/,
    });
  for (const verdict of ["yes", {}, undefined, { isRight: 1 }])
    await assert.rejects(evaluated({ judge: async () => verdict }), {
      code: "ERR_ARGUMENT",
      message: /judge: expected \{isRight, rationale\}/,
    });
});

test("so are another system's name, another mode of an index and another shape of a model", async () => {
  assert.throws(() => scoreAnswer("x", ["x"], "zz" as never), { code: "ERR_ARGUMENT" });
  await assert.rejects(openIndex("folder", { mode: "zz" as never }), {
    code: "ERR_ARGUMENT",
    message: /openIndex: mode: expected "bm25" or/,
  });
  const shape = { vocabSize: 8, hiddenSize: 8, intermediateSize: 8, numLayers: 1, numHeads: 2 };
  await assert.rejects(Model.create({ ...shape, numLayers: 1.5 }), {
    code: "ERR_RANGE",
    message: /numLayers/,
  });
  await assert.rejects(Model.create({ ...shape, numHead: 2 } as never), {
    code: "ERR_ARGUMENT",
    message: /unknown key "numHead"/,
  });
});

test("an agent that gives no trajectory is named", async () => {
  const questions = [{ id: "0", question: "Where?", answers: ["Rome"] }];
  for (const given of [undefined, {}]) {
    const agent = (async () => given) as unknown as EvaluateOptions["agent"];
    await assert.rejects(evaluate({ questions, agent }), {
      code: "ERR_ARGUMENT",
      message: /^agent's trajectory/,
    });
  }
});
