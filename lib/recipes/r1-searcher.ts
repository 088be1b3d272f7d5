/** R1-Searcher (arXiv 2503.05592): first to search at all, then to answer right, by outcome alone. */
import { checkOptions, type OptionKinds } from "../base/check-options.ts";
import { fewSearchesBonus } from "../reward/group.ts";
import {
  type R1SearcherRewardOptions,
  type R1SearcherStage,
  r1SearcherReward,
} from "../reward/systems/r1-searcher.ts";
import { type R1SearcherQueryStyle, r1SearcherFormat } from "../rollout/formats/r1-searcher.ts";
import { type Algorithm, algorithms } from "../train/algorithm/algorithm.ts";
import type { Recipe, Training } from "./recipe.ts";

/** Options of the recipe. */
export interface R1SearcherOptions {
  /** Stage 1 rewards searching, stage 2 the answer; `zero` trains a base model in one stage. */
  readonly stage: R1SearcherStage;
  /** A text for base models, or messages for instruct models. @default "base" for `zero`, else "instruct" */
  readonly template?: "base" | "instruct";
  /** What the prompt says of queries and questions. @default "triple" */
  readonly queryStyle?: R1SearcherQueryStyle;
  /** See `r1SearcherReward`. @default "paper", or "code" when faithful */
  readonly variant?: R1SearcherRewardOptions["variant"];
  /** Adds the bonus of R1-Searcher++ for right answers with few searches. @default false */
  readonly fewSearches?: boolean;
  /** @default false */
  readonly faithful?: boolean;
}

const optionKinds: OptionKinds<R1SearcherOptions> = {
  stage: [1, 2, "zero"],
  template: ["base", "instruct"],
  queryStyle: ["triple", "subquestions", "keywords", "judgement"],
  variant: ["paper", "code"],
  fewSearches: "boolean",
  faithful: "boolean",
};

/**
 * Options of R1-Searcher, with its known defects mended: a turn without an action is answered with a correction and counted, an empty query
 * does not end the conversation, the last turn is announced, documents are what the environment inserted and not what
 * looks like it, and tokens are drawn from the whole distribution (the original drew with top-p 0.95).
 *
 * @param options - stage, template, reward variant, faithfulness
 * @returns a recipe; change it by spreading
 * @throws ERR_ARGUMENT for an unknown key or a value of another type
 * @example
 * const { training } = r1Searcher({ stage: 1 });
 * assert.deepEqual([training.samples, training.batchQuestions], [16, 15]);
 */
export function r1Searcher(options: R1SearcherOptions): Recipe {
  checkOptions("r1Searcher", options, optionKinds, ["stage"]);
  const { stage, template = stage === "zero" ? "base" : "instruct", queryStyle = "triple" } = options;
  const { faithful = false, variant = faithful ? "code" : "paper", fewSearches = false } = options;
  return {
    format: r1SearcherFormat({ template, queryStyle, faithful }),
    limits: {
      // Eight searches and the answer.
      maxTurns: 9,
      maxResponseTokens: 512,
      maxObservationTokens: 1000,
      maxTokens: 16_384,
      topK: 3,
      searchTimeoutMs: 30_000,
    },
    sampling: { temperature: 1, topP: faithful ? 0.95 : 1 },
    reward: r1SearcherReward({ stage, variant, faithful }),
    groupReward: fewSearches ? fewSearchesBonus() : undefined,
    algorithm: algorithmOf(stage),
    training: {
      ...sizes[stage],
      samples: 16,
      learningRate: 2e-6,
      warmupSteps: 0,
      decay: "constant",
      criticLearningRate: 1e-5,
      criticWarmupSteps: 0,
      weightDecay: 0,
      beta2: faithful ? 0.95 : undefined,
    },
  };
}

// One pass over 350 questions in stage 1, over 8,148 in the others.
const sizes: Readonly<Record<R1SearcherStage, Pick<Training, "steps" | "batchQuestions">>> = {
  1: { steps: 23, batchQuestions: 15 },
  2: { steps: 125, batchQuestions: 65 },
  zero: { steps: 127, batchQuestions: 64 },
};

function algorithmOf(stage: R1SearcherStage): Algorithm {
  return {
    advantage: stage === 1 ? algorithms.grpo.advantage : "reinforce++-baseline",
    miniBatches: 4,
    kl: stage === "zero" ? undefined : { in: "reward", estimator: "k1", coef: 1e-4 },
  };
}
