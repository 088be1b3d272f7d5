/** Steps of a training whose rollouts are made elsewhere, and the weights after them. */
import type { Policy } from "../../../lib/model/policy.ts";
import { policyParts } from "../../../lib/model/policy.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { rl } from "../../../lib/train/rl.ts";
import type { RlMetrics, SampleRollouts } from "../../../lib/train/rl-options.ts";
import { type localWorld, questions } from "./served-worker.ts";

type Local = Awaited<ReturnType<typeof localWorld>>;

/** Two steps; the second one's rollouts show whether the first one's weights have arrived. */
export async function trained(
  { policy }: Local,
  rollout: SampleRollouts,
  { staleness = 0, numSteps = 2 } = {},
) {
  await using trainer = await Trainer.open(policy, { weightDecay: 0 });
  const steps: RlMetrics[] = [];
  await rl({
    learners: { trainer },
    task: { questions, reward: lengthReward, rollout },
    algorithm: { ...algorithms.rloo, kl: undefined },
    batch: { questions: 4, samples: 2, staleness },
    steps: numSteps,
    seed: 5,
    learningRate: { policy: () => 1e-3 },
    onStep: (metrics) => void steps.push(metrics),
  });
  return { steps, weights: await weightsOf(policy) };
}

/** Differs between samples, whatever the model says. */
const lengthReward: Parameters<typeof rl>[0]["task"]["reward"] = ({ segments }) =>
  segments.reduce((sum, { tokens }) => sum + ([...tokens].reduce((a, b) => a + b, 0) % 97), 0) / 97;

async function weightsOf(policy: Policy): Promise<Float32Array[]> {
  const { model, adapter } = policyParts(policy, "test");
  const names = (adapter?.handle ?? model.handle).tensors().map(({ name }) => name);
  return Promise.all(names.map((name) => policy.parameter(name)));
}
