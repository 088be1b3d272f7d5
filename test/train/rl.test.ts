/** Reinforcement learning: every algorithm learns, on just what the engine sampled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { type Algorithm, algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { rl } from "../../lib/train/rl.ts";
import type { RlMetrics, SampleRollouts } from "../../lib/train/rl-options.ts";
import { question } from "./fixed-rollouts.ts";
import { withoutClock } from "./run/kill.ts";
import { rolloutsOn, runBandit } from "./run/rl-run.ts";
import { tinyModel } from "./tiny.ts";

const variants: Record<string, Algorithm> = {
  ppo: algorithms.ppo,
  grpo: algorithms.grpo,
  "dr-grpo": { ...algorithms["dr-grpo"], aggregation: { tokensPerSequence: 6 } },
  "reinforce++": algorithms["reinforce++"],
  "reinforce++-baseline": algorithms["reinforce++-baseline"],
  rloo: algorithms.rloo,
  gspo: { ...algorithms.gspo, clip: { low: 0.1, high: 0.1 }, miniBatches: 2 },
  cispo: { ...algorithms.cispo, dynamicSampling: 0, miniBatches: 2 },
};

for (const [name, algorithm] of Object.entries(variants)) {
  test(`${name} learns to emit the rewarded token`, async () => {
    const seen: RlMetrics[] = [];
    await runBandit({ algorithm, steps: 30, onStep: (metrics) => seen.push(metrics) });
    const [first, last] = [seen[0]!, seen.at(-1)!];
    assert.ok(first["reward/mean"]! < 0.2, `began at ${first["reward/mean"]}`);
    assert.ok(last["reward/mean"]! > 0.6, `ended at ${last["reward/mean"]}`);
  });
}

test("REINFORCE learns from one rollout of each question", async () => {
  const seen: RlMetrics[] = [];
  const onStep = (metrics: RlMetrics): void => void seen.push(metrics);
  await runBandit({ algorithm: algorithms.reinforce, steps: 60, samples: 1, onStep });
  assert.ok(
    seen[0]!["reward/mean"]! < 0.2 && seen.at(-1)!["reward/mean"]! > 0.6,
    `${seen.at(-1)!["reward/mean"]}`,
  );
});

test("the engine's log-probabilities are the trainer's bit for bit, and every step reports the gap", async () => {
  for (const algorithm of [algorithms.ppo, algorithms.grpo]) {
    for (const dtype of ["float32", "bfloat16"] as const) {
      const seen: RlMetrics[] = [];
      await runBandit({ algorithm, dtype, steps: 3, onStep: (metrics) => seen.push(metrics) });
      for (const metrics of seen) {
        assert.equal(metrics["logprob_gap/max"], 0);
        assert.equal(metrics["logprob_gap/mean"], 0);
      }
    }
  }
});

test("old log-probabilities of the rollout give the same run as those of the trainer", async () => {
  const runs: Record<string, number>[][] = [];
  for (const oldLogprobs of ["trainer", "rollout"] as const) {
    const seen: Record<string, number>[] = [];
    const onStep = (metrics: RlMetrics) => seen.push(withoutClock(metrics) as Record<string, number>);
    await runBandit({ algorithm: algorithms.ppo, steps: 3, oldLogprobs, onStep });
    runs.push(seen);
  }
  assert.deepEqual(runs[0], runs[1]);
});

test("what is trained is what the engine's sequence holds, id for id", async () => {
  await using model = await tinyModel();
  await using engine = await Engine.open(model, { numBlocks: 100, blockTokens: 4 });
  const held: Int32Array[] = [];
  const played = await rolloutsOn(engine, (tokens) => held.push(tokens))(question, { samples: 3, seed: 5 });
  const trained = played.map((trajectory) => [...policySequence(trajectory).tokens].join());
  assert.deepEqual(trained.sort(), held.map((tokens) => [...tokens].join()).sort());
  for (const trajectory of played) {
    const { tokens, rows } = policySequence(trajectory);
    const sampled = trajectory.segments.filter(({ kind }) => kind === "policy");
    assert.deepEqual(
      [...rows].map((row) => tokens[row + 1]),
      sampled.flatMap((segment) => [...segment.tokens]),
    );
  }
});

test("a rollout that throws ends the others and the step", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  let stopped = 0;
  const rollout: SampleRollouts = async ({ id }, { signal }) => {
    if (id === "q0") throw new Error("no tokens today");
    await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
    stopped += 1;
    return [];
  };
  const questions = [0, 1, 2].map((i) => ({ id: `q${i}`, question: "?", answers: ["x"] }));
  const running = rl({
    learners: { trainer },
    task: { questions, rollout, reward: () => 0 },
    algorithm: algorithms.rloo,
    batch: { questions: 3, samples: 2 },
    steps: 1,
    learningRate: { policy: () => 1e-3 },
  });
  await assert.rejects(running, /no tokens today/);
  assert.equal(stopped, 2);
});

test("the weights' version moves by one per optimiser step", async () => {
  const versions: number[] = [];
  await runBandit({
    algorithm: algorithms.ppo,
    steps: 3,
    onStep: (metrics) => versions.push(metrics.weights_version!),
  });
  assert.deepEqual([versions[1]! - versions[0]!, versions[2]! - versions[1]!], [4, 4]);
});

test("an algorithm without what it needs is refused before the first rollout", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const options = {
    learners: { trainer },
    task: {
      questions: [{ id: "q", question: "?", answers: ["x"] }],
      rollout: async () => [],
      reward: () => 0,
    },
    batch: { questions: 1 },
    steps: 1,
    learningRate: { policy: () => 1e-3 },
  };
  const few = { ...options, algorithm: algorithms.rloo, batch: { questions: 1, samples: 2 } };
  await assert.rejects(rl(few), { message: "task.rollout: expected 2 trajectories, got 0" });
  await assert.rejects(rl({ ...options, algorithm: algorithms.ppo }), {
    code: "ERR_ARGUMENT",
    message: /critic/,
  });
  const corrected = { ...algorithms.rloo, correction: { by: "tis" } } as const;
  const fromRollout = { questions: 1, samples: 2, oldLogprobs: "rollout" } as const;
  await assert.rejects(rl({ ...options, batch: fromRollout, algorithm: corrected }), {
    message: /batch\.oldLogprobs/,
  });
  await assert.rejects(rl({ ...options, algorithm: algorithms.rloo }), { message: /at least 2 samples/ });
  await assert.rejects(rl({ ...options, batch: { questions: 1, samples: 2 }, algorithm: algorithms.grpo }), {
    message: /reference/,
  });
});
