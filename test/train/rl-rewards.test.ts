/** Rewards of a step: those of a group, and those that fail. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fewSearchesBonus } from "../../lib/reward/group.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { rl } from "../../lib/train/rl.ts";
import type { RlMetrics, SampleRollouts } from "../../lib/train/rl-options.ts";
import { emptyTrajectory, question, threeRollouts } from "./fixed-rollouts.ts";
import { withFolder } from "./run/kill.ts";
import { tinyModel } from "./tiny.ts";

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
