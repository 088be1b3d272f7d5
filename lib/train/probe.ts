/** Measures how long a step takes, on a few of its questions and without changing a weight. */
import { performance } from "node:perf_hooks";
import { aggregate } from "./algorithm/algorithm.ts";
import { toExperience } from "./experience.ts";
import type { RlOptions } from "./rl-options.ts";
import { scoredOf, stepRollouts } from "./step-rollouts.ts";
import { lossOf } from "./update.ts";

/** What a step is expected to take. */
export interface StepProbe {
  /** Questions that were measured; the times are those of all of a step's, in proportion. */
  readonly questions: number;
  readonly rolloutSeconds: number;
  /** Forward and backward of the policy, and the scores of critic and reference. */
  readonly trainSeconds: number;
}

/**
 * Runs the first questions of a training's first step and computes their gradients, which are then forgotten. Larger
 * batches use the processor better: a real step takes at most the time that is measured, but for the optimiser's.
 *
 * @param options - of the training
 * @param most - questions to measure, `@default 4`
 * @returns seconds of a whole step
 * @throws what rollouts and rewards throw; ERR_REMOTE when nothing got a reward
 */
export async function probeStep(
  options: RlOptions,
  { most = 4 }: { readonly most?: number } = {},
): Promise<StepProbe> {
  const { learners, algorithm, batch } = options;
  const questions = Math.min(most, batch.questions);
  const small: RlOptions = {
    ...options,
    batch: { ...batch, questions },
    algorithm: { ...algorithm, dynamicSampling: 0 },
  };
  await learners.trainer.gatherWeights();
  const started = performance.now();
  const rewarded = scoredOf((await stepRollouts(0, small)).all.flat(), 0);
  const between = performance.now();
  const { sequences } = await toExperience(rewarded, learners, algorithm, batch);
  const loss = lossOf(algorithm, batch.sampling?.temperature ?? 1);
  const trained = sequences.filter(({ rows }) => rows.length > 0);
  await learners.trainer.accumulate(aggregate(trained, algorithm.aggregation), {
    ...loss,
    maxTokens: batch.maxTokens,
  });
  await learners.trainer.zeroGradients();
  const factor = batch.questions / questions / 1000;
  const passes = algorithm.epochs ?? 1;
  return {
    questions,
    rolloutSeconds: (between - started) * factor,
    trainSeconds: (performance.now() - between) * factor * passes,
  };
}
