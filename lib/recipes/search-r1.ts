/** Search-R1 (arXiv 2503.09516): think, search one query a turn, answer; by PPO or GRPO, with or without format reward. */
import { checkOptions, type OptionKinds } from "../base/check-options.ts";
import { emReward } from "../reward/reward.ts";
import {
  type FormatScores,
  formatReward,
  formatScoresKind,
  wholeTextEmReward,
} from "../reward/systems/search-r1.ts";
import { ragFormat } from "../rollout/formats/format.ts";
import { originalRagFormat, searchR1Observation } from "../rollout/formats/original-rag.ts";
import { algorithms } from "../train/algorithm/algorithm.ts";
import type { Recipe } from "./recipe.ts";

/** Options of the recipe. */
export interface SearchR1Options {
  /** @default "ppo" */
  readonly algorithm?: "ppo" | "grpo";
  /** Pays for form as well; `true` as version 0.3 does: 0.2 for structure, 0.1 for a wrong answer. @default exact match */
  readonly format?: FormatScores | true;
  /** @default false */
  readonly faithful?: boolean;
}

const optionKinds: OptionKinds<SearchR1Options> = {
  algorithm: ["ppo", "grpo"],
  format: (name, value) => (value === true ? undefined : formatScoresKind(name, value)),
  faithful: "boolean",
};

/**
 * Options of Search-R1, with its known defects mended, which are those of `ragR1` with one query a turn. `faithful` takes
 * them back as far as the laws allow.
 *
 * @param options - algorithm, format reward, faithfulness
 * @returns a recipe; change it by spreading
 * @throws ERR_ARGUMENT for an unknown key or a value of another type
 * @example
 * const { training } = searchR1({ algorithm: "grpo" });
 * assert.equal(training.samples, 5);
 */
export function searchR1(options: SearchR1Options = {}): Recipe {
  checkOptions("searchR1", options, optionKinds);
  const { algorithm = "ppo", format, faithful = false } = options;
  const isGrpo = algorithm === "grpo";
  const usual = faithful ? wholeTextEmReward : emReward;
  return {
    format: faithful
      ? originalRagFormat("single", "search-r1")
      : { ...ragFormat("single"), observation: searchR1Observation },
    limits: {
      // Four searches and the answer.
      maxTurns: 5,
      maxResponseTokens: 500,
      maxObservationTokens: 500,
      maxTokens: 4096,
      topK: 3,
      searchTimeoutMs: 30_000,
    },
    sampling: { temperature: 1, topP: faithful && isGrpo ? 0.95 : 1 },
    reward: format === undefined ? usual : formatReward({ ...(format === true ? {} : format), faithful }),
    algorithm: isGrpo ? algorithms.grpo : { ...algorithms.ppo, miniBatches: 2 },
    training: {
      steps: 1005,
      batchQuestions: 512,
      samples: isGrpo ? 5 : 1,
      learningRate: isGrpo && format !== undefined ? 5e-7 : 1e-6,
      warmupSteps: 286,
      decay: "constant",
      criticLearningRate: 1e-5,
      criticWarmupSteps: 15,
      weightDecay: 0.01,
    },
  };
}
