/** Numbers that a training cannot have are refused by name before anything is sampled or trained. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { adamW } from "../../lib/train/learner/learner-options.ts";
import { rl } from "../../lib/train/rl.ts";
import type { RlOptions } from "../../lib/train/rl-options.ts";
import { explainNonFinite } from "../../lib/train/run/non-finite.ts";
import { epochs, sft } from "../../lib/train/sft.ts";

const unreachable = () => assert.fail("began in spite of a wrong number");
const batch = { questions: 1, samples: 2 };
const options = {
  learners: { trainer: {} },
  task: { questions: [{ id: "q", question: "?", answers: [] }], reward: () => 0, rollout: unreachable },
  algorithm: algorithms.rloo,
  batch,
  steps: 1,
  learningRate: { policy: () => 1 },
} as unknown as RlOptions;

const wrong: readonly [Partial<Record<keyof RlOptions, unknown>>, RegExp][] = [
  [{ steps: Number.NaN }, /steps: expected a whole number from 0 on, got NaN/],
  [{ steps: 1.5 }, /steps: expected a whole number from 0 on, got 1\.5/],
  [{ seed: -1 }, /seed: /],
  [{ batch: { ...batch, questions: 0 } }, /batch: questions: expected a whole number from 1 on, got 0/],
  [{ batch: { ...batch, samples: 1.5 } }, /batch: samples: /],
  [{ batch: { ...batch, samples: "2" } }, /batch: samples: expected a number/],
  [{ batch: { ...batch, maxTokens: Number.NaN } }, /batch: maxTokens: /],
  [{ batch: { ...batch, sampling: { temperature: 0 } } }, /temperature: expected a finite number above 0/],
  [{ algorithm: { ...algorithms.rloo, epochs: 0 } }, /algorithm: epochs: /],
  [{ algorithm: { ...algorithms.rloo, miniBatches: 1.5 } }, /algorithm: miniBatches: /],
  [
    { algorithm: { ...algorithms.rloo, gamma: 5 } },
    /algorithm: gamma: expected a finite number above 0 to 1/,
  ],
  [{ algorithm: { ...algorithms.rloo, clip: { low: Number.NaN, high: 0.2 } } }, /algorithm: clip: low: /],
  [{ algorithm: { ...algorithms.rloo, advantage: "zz" } }, /algorithm: advantage: expected "gae" or /],
  [{ algorithm: { ...algorithms.rloo, aggregation: "x" } }, /algorithm: aggregation: expected "token-mean"/],
  [{ algorithm: { ...algorithms.rloo, lossOn: "x" } }, /algorithm: lossOn: expected "policy" or "all"/],
  [{ evaluation: { every: 0, evaluate: unreachable } }, /evaluation: every: /],
  [{ run: { folder: "never-made", keep: 0 } }, /run: keep: /],
  [{ run: { folder: "never-made", checkpointEvery: Number.NaN } }, /run: checkpointEvery: /],
  [
    { task: { ...options.task, questions: [5] } },
    /task\.questions\[0\]: expected \{id, question, answers\}, got 5/,
  ],
];

test("rl refuses numbers and words that cannot be", async () => {
  for (const [change, message] of wrong) {
    const changed = { ...options, ...change } as RlOptions;
    await assert.rejects(rl(changed), (error) => error instanceof SeekError && message.test(error.message));
  }
});

test("so do sft, epochs, schedules and AdamW", async () => {
  const fine = { trainer: {}, batch: unreachable, steps: 1, learningRate: () => 1 } as never;
  for (const change of [{ steps: -1 }, { maxTokens: 0 }, { seed: 0.5 }])
    await assert.rejects(sft(Object.assign({}, fine, change)), { code: "ERR_RANGE" });
  for (const change of [{ batchSize: 0 }, { batchSize: 1.5 }, { epochs: -1 }, { epochs: Number.NaN }])
    assert.throws(() => epochs([{} as never], { batchSize: 1, epochs: 1, ...change }), { code: "ERR_RANGE" });
  for (const change of [{ peak: Number.NaN }, { peak: -1 }, { warmupSteps: 1.5 }, { warmupSteps: -1 }])
    assert.throws(() => schedule({ peak: 1, ...change }), { code: "ERR_RANGE" });
  for (const change of [{ weightDecay: Number.NaN }, { beta1: 1 }, { maxGradNorm: -1 }])
    assert.throws(() => adamW(change), { code: "ERR_RANGE" });
});

test("only a number that is not finite is explained as one", async () => {
  const failing = (message: string) => Promise.reject(new SeekError("ERR_RANGE", message));
  await assert.rejects(explainNonFinite(3, failing("tokens: expected 0 to 9, got 10")), {
    message: "tokens: expected 0 to 9, got 10",
  });
  await assert.rejects(explainNonFinite(3, failing("gradient norm: expected a finite number, got nan")), {
    message: /step 3: the gradient is not finite.*Remedy/,
  });
});
