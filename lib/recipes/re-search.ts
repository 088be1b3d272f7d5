/** ReSearch (arXiv 2503.19470): one flow of thoughts and searches, rewarded by the F1 of the boxed answer. */
import { type ReSearchRewardOptions, reSearchReward } from "../reward/re-search.ts";
import { type ReSearchTemplate, reSearchFormat } from "../rollout/re-search.ts";
import { algorithms } from "../train/algorithm.ts";
import type { Recipe } from "./recipe.ts";

/** Options of the recipe. */
export interface ReSearchOptions {
  /** A text for base models, or messages for instruct models. @default "instruct" */
  readonly template?: ReSearchTemplate;
  /** Instead of our wording; see `reSearchFormat`. @default ours */
  readonly templateText?: string;
  /** Whether form is needed for any reward. @default "code" */
  readonly variant?: ReSearchRewardOptions["variant"];
  /** @default false */
  readonly faithful?: boolean;
}

/**
 * Options of ReSearch, with its known defects mended: turns are read by themselves, a turn without an action is told so
 * and counted, an empty query is never searched for, there is a last turn and it is announced, an answer ends the
 * conversation, and tags in what was found have no part in the reward. `faithful` takes that back: no limit but tokens,
 * and the original's reward over the whole text.
 *
 * @param options - template, reward variant, faithfulness
 * @returns a recipe; change it by spreading
 * @example
 * const { training, limits } = reSearch();
 * assert.deepEqual([training.samples, limits.topK], [5, 5]);
 */
export function reSearch({
  template = "instruct",
  templateText,
  variant = "code",
  faithful = false,
}: ReSearchOptions = {}): Recipe {
  const endOfText = template === "base" ? "<|endoftext|>" : "<|im_end|>";
  return {
    format: reSearchFormat({
      template,
      faithful,
      ...(templateText === undefined ? {} : { templateText }),
    }),
    limits: {
      maxTurns: faithful ? Number.POSITIVE_INFINITY : 10,
      maxResponseTokens: 8192,
      maxObservationTokens: faithful ? 8192 : 2048,
      // 512 of the prompt, 8,192 of everything behind it.
      maxTokens: 8704,
      topK: 5,
      searchTimeoutMs: 30_000,
    },
    sampling: { temperature: 1, topP: 1 },
    reward: reSearchReward({ variant, faithful, endOfText }),
    algorithm: { ...algorithms.grpo, aggregation: "token-mean" },
    training: {
      // Two epochs of MuSiQue's 19,938 questions.
      steps: 154,
      batchQuestions: 256,
      samples: 5,
      learningRate: 1e-6,
      warmupSteps: 0,
      decay: "constant",
      criticLearningRate: 1e-5,
      criticWarmupSteps: 0,
      weightDecay: 0.01,
    },
  };
}
