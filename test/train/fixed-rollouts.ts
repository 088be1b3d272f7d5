/** Reinforcement learning on one question with fixed rollouts. */
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import type { SampleRollouts } from "../../lib/train/rl-options.ts";
import { tinyModel } from "./tiny.ts";

export const question = { id: "q1", question: "?", answers: ["x"] };
export const emptyTrajectory = {
  ...{ id: "q1#0", questionId: "q1", turns: 1, stop: "answer" as const, queries: [], invalidActions: 0 },
  ...{ failures: 0, timings: { generateMs: 0, searchMs: 0, totalMs: 0 }, weightsVersion: 0 },
};

/** One step on one question with three fixed rollouts, rewarded by their number. */
export async function threeRollouts(
  reward: (trajectory: Trajectory, index: number) => number | Promise<number>,
) {
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
