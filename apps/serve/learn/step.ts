/** One step of learning from replies that were scored. */
import type { Model } from "../../../lib/model/model.ts";
import { type Algorithm, algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { toExperience } from "../../../lib/train/experience.ts";
import type { Trainer } from "../../../lib/train/learner/trainer.ts";
import type { Rewarded } from "../../../lib/train/step-rollouts.ts";
import { update } from "../../../lib/train/update.ts";
import type { LearnOptions } from "./options.ts";
import type { ScoredChoice } from "./recorder.ts";

const defaults = { learningRate: 5e-5, klCoef: 0.001 } as const;

/** Log-probabilities are the engine's, so that older samples count by how likely they are now. */
const fromRollout = { oldLogprobs: "rollout" } as const;

/** What a step needs beside the replies. */
interface LearnStep {
  readonly trainer: Trainer;
  /** The model without an adapter. */
  readonly reference: Model;
  /** Steps before this one. */
  readonly numSteps: number;
  readonly options: Pick<LearnOptions, "algorithm" | "klCoef" | "learningRate">;
}

function algorithmOf({
  algorithm = "reinforce++",
  klCoef = defaults.klCoef,
}: LearnStep["options"]): Algorithm {
  return { ...algorithms[algorithm], kl: { in: "reward", estimator: "k1", coef: klCoef }, miniBatches: 1 };
}

/** Choices that follow the same prompt are one group. */
function rewardedOf(choices: readonly Pick<ScoredChoice, "segments" | "reward">[]): Rewarded[] {
  const groups = new Map<string, number>();
  return choices.map(({ segments, reward }) => {
    const prompt = segments.find(({ kind }) => kind === "prompt")?.tokens.join() ?? "";
    const group = groups.get(prompt) ?? groups.size;
    groups.set(prompt, group);
    // The text is not trained on.
    return { trajectory: { segments: segments.map((each) => ({ ...each, text: "" })) }, reward, group };
  });
}

/**
 * Takes one: the same replies in the same order after the same steps give the same bits.
 *
 * @param choices - what was sampled, and what it was worth
 * @param step - what learns from them
 * @returns what is logged of it
 */
export async function learnFrom(
  choices: readonly Pick<ScoredChoice, "segments" | "reward">[],
  { trainer, reference, numSteps, options }: LearnStep,
): Promise<Record<string, number>> {
  const learners = { trainer, reference };
  const algorithm = algorithmOf(options);
  const experience = await toExperience(rewardedOf(choices), learners, algorithm, fromRollout);
  const { learningRate = defaults.learningRate } = options;
  const rates = { policy: learningRate, critic: 0, seed: numSteps };
  const learnt = await update(experience, learners, algorithm, {}, rates);
  return {
    ...{ ...learnt, "policy/kl_reference": experience.referenceKl ?? 0 },
    "reward/mean": choices.reduce((sum, { reward }) => sum + reward, 0) / choices.length,
    "batch/choices": choices.length,
  };
}
