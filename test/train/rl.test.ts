import assert from "node:assert/strict";
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { fewSearchesBonus } from "../../lib/reward/group.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { type Algorithm, algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { rl } from "../../lib/train/rl.ts";
import type { RlMetrics, SampleRollouts } from "../../lib/train/rl-options.ts";
import { runAndKill, steadyMetrics, withFolder, withoutClock } from "./run/kill.ts";
import { rlRunSteps, rolloutsOn, runBandit } from "./run/rl-run.ts";
import { tinyModel } from "./tiny.ts";

const question = { id: "q1", question: "?", answers: ["x"] };
const emptyTrajectory = {
  ...{ id: "q1#0", questionId: "q1", turns: 1, stop: "answer" as const, queries: [], invalidActions: 0 },
  ...{ failures: 0, timings: { generateMs: 0, searchMs: 0, totalMs: 0 }, weightsVersion: 0 },
};

const variants: Record<string, Algorithm> = {
  ppo: algorithms.ppo,
  grpo: algorithms.grpo,
  "dr-grpo": { ...algorithms["dr-grpo"], aggregation: { tokensPerSequence: 6 } },
  "reinforce++": algorithms["reinforce++"],
  "reinforce++-baseline": algorithms["reinforce++-baseline"],
  rloo: algorithms.rloo,
  gspo: { ...algorithms.gspo, clip: { low: 0.1, high: 0.1 }, miniBatches: 2 },
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

test("the rollouts of one question add to each other's rewards", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const segments = [
    { kind: "prompt", tokens: Int32Array.of(1, 2), text: "" },
    { kind: "policy", tokens: Int32Array.of(3, 4), text: "" },
  ] as const;
  const rollout: SampleRollouts = async () => {
    return [1, 3].map((rounds) => ({ ...emptyTrajectory, segments, rounds }));
  };
  const metrics = await rl({
    learners: { trainer },
    task: { questions: [question], rollout, reward: () => 1, groupReward: fewSearchesBonus() },
    algorithm: algorithms.rloo,
    batch: { questions: 1, samples: 2 },
    steps: 1,
    learningRate: { policy: () => 1e-3 },
  });
  assert.equal(metrics?.["reward/mean"], (1 + 2 + 1) / 2);
});

test("a reward that throws, hangs or gives no finite number leaves its trajectory out, counted and named", async () => {
  const faults = [
    () => assert.fail("no key"),
    () => Number.NaN,
    () => JSON.parse('"1"') as number,
    () => new Promise<number>(() => {}),
  ];
  const named = [/no key/, /number, got NaN/, /number, got "1"/, /no number within 500 ms/];
  for (const [i, fault] of faults.entries()) {
    await withFolder(async (folder) => {
      const options = await threeRollouts((_, index) => (index === 0 ? fault() : index));
      const [seen, told]: [RlMetrics[], string[]] = [[], []];
      const onRewardFailure = (failure: string): void => void told.push(failure);
      await rl({
        ...options,
        task: { ...options.task, rewardDeadlineMs: 500, onRewardFailure },
        run: { folder, checkpointEvery: 1 },
        onStep: (metrics) => void seen.push(metrics),
      });
      const [first] = seen;
      assert.deepEqual(
        [first?.["reward/failed"], first?.["reward/unscored"], first?.["reward/mean"]],
        [1, 1, 1.5],
      );
      assert.equal(told.length, 1);
      assert.match(told[0]!, named[i]!);
      const lines = (await readFile(join(folder, "trajectories.jsonl"), "utf8")).trim().split("\n");
      const rows = lines.map((line) => JSON.parse(line) as { reward: number; rewardFailure?: string });
      assert.deepEqual(
        rows.map(({ reward }) => reward),
        [null, 1, 2],
      );
      assert.equal(rows[0]?.rewardFailure, told[0]);
    });
  }
});

test("a group of which one reward is left is not learnt from, and a step without rewards says whose fault it is", async () => {
  const alone = await threeRollouts((_, i) => (i === 0 ? 1 : Number.NaN));
  await assert.rejects(rl(alone), {
    code: "ERR_REMOTE",
    message: /step 1: expected rewards, got none for any of 3.*reward: expected a finite number, got NaN/,
  });
});

test("a run that has reached what it was for ends, and stays ended when it is resumed", async () => {
  await withFolder(async (folder) => {
    const options = await threeRollouts((_, i) => i);
    const seen: number[] = [];
    const run = {
      ...{ ...options, steps: 5, run: { folder, checkpointEvery: 0 } },
      endWhen: ({ step }: RlMetrics) => step === 2,
      onStep: ({ step }: RlMetrics) => void seen.push(step),
    };
    assert.equal((await rl(run))?.step, 2);
    assert.equal(await rl(run), undefined);
    assert.deepEqual(seen, [1, 2]);
  });
});

/** One step on one question with three fixed rollouts, rewarded by their number. */
async function threeRollouts(reward: (trajectory: Trajectory, index: number) => number | Promise<number>) {
  const trainer = await Trainer.open(await tinyModel());
  const segments = [
    { kind: "prompt", tokens: Int32Array.of(1, 2), text: "" },
    { kind: "policy", tokens: Int32Array.of(3, 4), text: "" },
  ] as const;
  const rollout: SampleRollouts = async () =>
    [0, 1, 2].map((turns) => ({ ...emptyTrajectory, segments, rounds: 0, turns }));
  return {
    learners: { trainer },
    task: {
      questions: [question],
      rollout,
      reward: (trajectory: Trajectory) => reward(trajectory, trajectory.turns),
    },
    algorithm: algorithms.rloo,
    batch: { questions: 1, samples: 3 },
    steps: 1,
    learningRate: { policy: () => 1e-3 },
  };
}

test("the weights' version moves by one per optimiser step", async () => {
  const versions: number[] = [];
  await runBandit({
    algorithm: algorithms.ppo,
    steps: 3,
    onStep: (metrics) => versions.push(metrics.weights_version!),
  });
  assert.deepEqual([versions[1]! - versions[0]!, versions[2]! - versions[1]!], [4, 4]);
});

test("PPO killed with SIGKILL and resumed ends with the same bytes, critic and logs included", async () => {
  await withFolder(async (folder) => {
    const [whole, killed] = [join(folder, "whole"), join(folder, "killed")];
    await runBandit({ algorithm: algorithms.ppo, steps: rlRunSteps, folder: whole });
    await runAndKill("rl-run.js", killed, "5");
    await appendFile(join(killed, "trajectories.jsonl"), '{"step": 6, "id": "q');
    const steps: number[] = [];
    await runBandit({
      algorithm: algorithms.ppo,
      steps: rlRunSteps,
      folder: killed,
      onStep: ({ step }) => steps.push(step),
    });
    assert.ok(steps[0]! > 1, "it went on from a checkpoint");
    const files = ["model", "trainer", "critic/model", "critic/trainer"].map((name) => `${name}.safetensors`);
    for (const file of files) {
      const read = (run: string) => readFile(join(run, "checkpoints", "step-000010", file));
      assert.ok((await read(whole)).equals(await read(killed)), `${file} differs`);
    }
    assert.deepEqual(await steadyMetrics(killed), await steadyMetrics(whole));
    const logged = (run: string) => readFile(join(run, "trajectories.jsonl"), "utf8");
    assert.equal(await logged(killed), await logged(whole));
    assert.equal((await logged(whole)).trimEnd().split("\n").length, rlRunSteps * 32);
  });
});

test("PPO that is interrupted between checkpoints goes on from its last step, with the same bytes", async () => {
  await withFolder(async (folder) => {
    const [whole, stopped] = [join(folder, "whole"), join(folder, "stopped")];
    const run = { algorithm: algorithms.ppo, steps: 5 };
    await runBandit({ ...run, folder: whole });
    const controller = new AbortController();
    const interrupt = ({ step }: { readonly step: number }) => {
      if (step === 4) controller.abort();
    };
    const running = runBandit({ ...run, folder: stopped, onStep: interrupt, signal: controller.signal });
    await assert.rejects(running, { code: "ERR_ABORTED" });
    assert.deepEqual((await readdir(join(stopped, "checkpoints"))).sort(), ["step-000003", "step-000004"]);
    const steps: number[] = [];
    await runBandit({ ...run, folder: stopped, onStep: ({ step }) => steps.push(step) });
    assert.deepEqual(steps, [5]);
    for (const file of ["model.safetensors", "critic/trainer.safetensors"]) {
      const read = (name: string) => readFile(join(name, "checkpoints", "step-000005", file));
      assert.ok((await read(whole)).equals(await read(stopped)), `${file} differs`);
    }
    assert.deepEqual(await steadyMetrics(stopped), await steadyMetrics(whole));
  });
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
  await assert.rejects(rl({ ...options, algorithm: algorithms.rloo }), { message: /at least 2 samples/ });
  await assert.rejects(rl({ ...options, batch: { questions: 1, samples: 2 }, algorithm: algorithms.grpo }), {
    message: /reference/,
  });
});
