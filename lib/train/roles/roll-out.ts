/** A rank that only generates: it rolls out each step's questions under the weights that others train. */
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { throwIfAnyAborted } from "../../comm/agreement.ts";
import { checkQuestions } from "../../data/question.ts";
import type { Policy } from "../../model/policy.ts";
import { checkOffPolicy } from "../pipeline/off-policy.ts";
import { RolloutPipeline } from "../pipeline/rollout-pipeline.ts";
import { type RlOptions, rlKinds, rlSettings } from "../rl-options.ts";
import type { StepRollouts } from "../step-rollouts.ts";
import { isEvaluated, LoopRanks } from "./loop-ranks.ts";
import { type RankRoles, rolesKind } from "./rank-roles.ts";

/** What a rank that generates is given: of a training's options those that say what is asked, how much, and for how long. */
export interface RollOutOptions
  extends Pick<RlOptions, "task" | "algorithm" | "batch" | "steps" | "seed" | "evaluation" | "signal"> {
  /** What generates, over which its engine is open: of the shape of what is trained. */
  readonly policy: Policy;
  readonly roles: RankRoles;
}

const { task, algorithm, batch, steps, seed, evaluation, signal } = rlKinds;
const kinds: OptionKinds<RollOutOptions> = {
  ...{ task, algorithm, batch, steps, seed, evaluation, signal },
  policy: "object",
  roles: rolesKind,
};

const required = ["task", "algorithm", "batch", "steps", "policy", "roles"] as const;

function check({ algorithm, batch, task, roles }: RollOutOptions): void {
  if (!roles.isRollout) {
    const what = `expected a rank that rolls out, got rank ${roles.job.rank}, which trains and calls rl`;
    throw new SeekError("ERR_ARGUMENT", `roles: ${what}`);
  }
  checkOffPolicy(algorithm, batch);
  checkQuestions("task.questions", task.questions);
}

/**
 * Generates for the ranks that train, until they have done their steps. After each step it gets the new weights, bit for bit, with
 * their version; with `batch.staleness` it goes on meanwhile. It keeps no gradients and no optimiser. Evaluations are made here.
 *
 * @param options - policy and roles, and what the ranks that train are given: the same questions, algorithm, sizes, steps and seed
 * @throws ERR_ARGUMENT on a rank that trains, and where ranks were given different things; what rollouts and rewards throw, here or
 *   on another rank; ERR_REMOTE naming a rank that is gone; ERR_ABORTED when the signal of any rank fires
 * @example
 * async function generate(roles: RankRoles): Promise<void> {
 *   const task = { questions, reward: f1Reward, rollout: agent.rollouts };
 *   await rollOut({ roles, policy: model, task, algorithm: algorithms.rloo, batch: { questions: 1, samples: 2 }, steps: 1 });
 * }
 */
export async function rollOut(options: RollOutOptions): Promise<void> {
  checkOptions("rollOut", options, kinds, required);
  check(options);
  const { roles, steps, signal, batch } = options;
  const { staleness = 0 } = batch;
  await using ranks = await LoopRanks.open({ roles, training: undefined, staleness });
  await using rollouts = new RolloutPipeline<StepRollouts>(
    { steps, staleness, signal },
    ranks.rollingOut(options),
  );
  try {
    await generate(options, rollouts);
  } catch (error) {
    await ranks.endWith(error);
    throw error;
  }
}

async function generate(options: RollOutOptions, rollouts: RolloutPipeline<StepRollouts>): Promise<void> {
  const { roles, policy, steps, signal } = options;
  const { step: first, hasEnded } = await roles.begin(policy, rlSettings(options));
  if (first === 0 && isEvaluated(0, options)) {
    await throwIfAnyAborted(roles.job, signal, "rl");
    await evaluate(0, options);
  }
  let goesOn = !hasEnded;
  for (let step = first; step < steps && goesOn; step += 1) {
    await throwIfAnyAborted(roles.job, signal, "rl");
    await rollouts.take(step);
    await throwIfAnyAborted(roles.job, signal, "rl");
    await roles.shareWeights(policy);
    await evaluate(step + 1, options);
    goesOn = await roles.goesOn();
  }
}

async function evaluate(step: number, options: RollOutOptions): Promise<void> {
  if (isEvaluated(step, options)) await options.roles.evaluated(options.evaluation?.evaluate(step));
}
