/**
 * How long does a GRPO step take, rollout and update, and how much memory, against Hugging Face on the same model?
 *
 * `node dist/bench/train/grpo.js [--shape world] [--dtype float32] [--threads 2] [--questions 8] [--samples 8]
 * [--prompt 64] [--turns 1] [--new 64] [--observation 0] [--steps 5] [--lora 0] [--cacheGib 1]
 * [--activationGib 1000]`; the peer is
 * bench/train/grpo_peer.py with the same flags. Every sample has `turns` spans of `new` tokens, with an observation between
 * two of them; no KL, one update on all of a step's samples; lora: rank of an adapter that is trained in place of the weights.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import type { Segment, Trajectory } from "../../lib/rollout/trajectory.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { rl } from "../../lib/train/rl.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    shape: { type: "string", default: "world" },
    dtype: { type: "string", default: "float32" },
    threads: { type: "string", default: "2" },
    questions: { type: "string", default: "8" },
    samples: { type: "string", default: "8" },
    prompt: { type: "string", default: "64" },
    turns: { type: "string", default: "1" },
    new: { type: "string", default: "64" },
    observation: { type: "string", default: "0" },
    steps: { type: "string", default: "5" },
    lora: { type: "string", default: "0" },
    cacheGib: { type: "string", default: "1" },
    activationGib: { type: "string", default: "1000" },
  },
});
const shape = shapeOf(values.shape);
const dtype = values.dtype === "bfloat16" ? "bfloat16" : "float32";
const [numTurns, maxTokens, rank] = [values.turns, values.new, values.lora].map(Number) as [
  number,
  number,
  number,
];

await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape }, { dtype });
const policy = rank > 0 ? await Adapter.create(model, { rank }) : model;
// Random weights repeat themselves, which a peer's step by step decoding does not gain from.
const promptLookup = false;
const cacheBytes = Number(values.cacheGib) * 2 ** 30;
await using engine = await Engine.open(policy, { cacheBytes, promptLookup });
await using trainer = await Trainer.open(policy, {
  activationBytes: Number(values.activationGib) * 2 ** 30,
});

const ids = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, t) => (t * 31 + salt * 7) % shape.vocabSize);

async function play(question: number, sample: number, seed: number): Promise<Trajectory> {
  const prompt = ids(Number(values.prompt), question);
  const sequence = engine.open(prompt, { seed });
  const segments: Segment[] = [{ kind: "prompt", tokens: prompt, text: "" }];
  for (let turn = 0; turn < numTurns; turn += 1) {
    if (turn > 0) {
      const observation = ids(Number(values.observation), 100 * turn + sample);
      sequence.append(observation);
      segments.push({ kind: "observation", tokens: observation, text: "" });
    }
    const { ids: tokens, logprobs } = await sequence.generate({ maxTokens, stopIds: [] });
    segments.push({ kind: "policy", tokens, logprobs, text: "" });
  }
  sequence.close();
  return {
    ...{ id: `${question}#${sample}`, questionId: `${question}`, segments, turns: numTurns, stop: "length" },
    ...{ rounds: numTurns - 1, queries: [], invalidActions: 0, failures: 0 },
    ...{ timings: { generateMs: 0, searchMs: 0, totalMs: 0 }, weightsVersion: policy.weightsVersion },
  };
}

const steps: { rollout: number; train: number }[] = [];
const questions = Array.from({ length: Number(values.questions) }, (_, i) => ({
  ...{ id: `${i}`, question: "", answers: ["x"] },
}));
await rl({
  learners: { trainer },
  task: {
    questions,
    rollout: ({ id }, { samples, seed }) =>
      Promise.all(Array.from({ length: samples }, (_, i) => play(Number(id), i, seed + i))),
    // One half of each group is right: no advantage is zero.
    reward: ({ id }) => Number(id.split("#")[1]) % 2,
  },
  algorithm: { ...algorithms.grpo, kl: undefined },
  batch: { questions: questions.length, samples: Number(values.samples), oldLogprobs: "rollout" },
  steps: Number(values.steps) + 1,
  learningRate: { policy: schedule({ peak: 1e-6 }) },
  collapse: { action: "ignore" },
  onStep: (metrics) => {
    steps.push({ rollout: metrics["seconds/rollout"]!, train: metrics["seconds/train"]! });
  },
});
const median = (sample: number[]): number =>
  Number(sample.sort((a, b) => a - b)[sample.length >> 1]!.toFixed(3));
const timed = steps.slice(1);
const result = {
  promptLookup,
  rolloutSeconds: median(timed.map(({ rollout }) => rollout)),
  trainSeconds: median(timed.map(({ train }) => train)),
  seconds: median(timed.map(({ rollout, train }) => rollout + train)),
  peakGigabytes: Number((process.resourceUsage().maxRSS / 1e6).toFixed(2)),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
