/** ReSearch (arXiv 2503.19470): one flow of thoughts and searches, rewarded by the F1 of the boxed answer. */
import { checkOptions, type OptionKinds } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { reCallReward } from "../reward/systems/re-call.ts";
import { type ReSearchRewardOptions, reSearchReward } from "../reward/systems/re-search.ts";
import { type ReSearchTemplate, reSearchFormat } from "../rollout/formats/re-search.ts";
import { toolFormat } from "../rollout/formats/tool-format.ts";
import type { ToolBox } from "../rollout/tools/tool-box.ts";
import { algorithms } from "../train/algorithm/algorithm.ts";
import type { Recipe } from "./recipe.ts";

/** Options of the recipe. */
export interface ReSearchOptions {
  /** A text for base models, or messages for instruct models. @default "instruct" */
  readonly template?: ReSearchTemplate;
  /** Instead of our wording; see `reSearchFormat`, with tools `toolFormat`. @default ours */
  readonly templateText?: string;
  /**
   * Calls these in JSON instead of searching, as ReSearch's successor ReCall does: another conversation, other limits
   * and a reward that reads calls. Only for instruct models. @default it searches
   */
  readonly tools?: ToolBox;
  /** Whether form is needed for any reward. @default "code" */
  readonly variant?: ReSearchRewardOptions["variant"];
  /** @default false */
  readonly faithful?: boolean;
}

const optionKinds: OptionKinds<ReSearchOptions> = {
  template: ["base", "instruct"],
  templateText: "string",
  tools: "object",
  variant: ["paper", "code"],
  faithful: "boolean",
};

/**
 * Options of ReSearch, with its known defects mended: turns are read by themselves, a turn without an action is answered with a correction
 * and counted, an empty query is never searched for, there is a last turn and it is announced, an answer ends the
 * conversation, and tags in what was found have no part in the reward. `faithful` takes that back: no limit but tokens,
 * and the original's reward over the whole text.
 *
 * @param options - template, reward variant, faithfulness
 * @returns a recipe; change it by spreading
 * @throws ERR_ARGUMENT for an unknown key or a value of another type
 * @example
 * const { training, limits } = reSearch();
 * assert.deepEqual([training.samples, limits.topK], [5, 5]);
 */
export function reSearch(options: ReSearchOptions = {}): Recipe {
  checkOptions("reSearch", options, optionKinds);
  const { tools } = options;
  if (tools !== undefined) return reCall(tools, options);
  const { template = "instruct", templateText, variant = "code", faithful = false } = options;
  const endOfText = template === "base" ? "<|endoftext|>" : "<|im_end|>";
  return {
    format: reSearchFormat({ template, faithful, templateText }),
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
    algorithm: { ...algorithms.grpo, miniBatches: 1 },
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

/** The successor: tools instead of a search, more and smaller steps from each batch, a second clip. */
function reCall(
  tools: ToolBox,
  { template, templateText, variant = "code", faithful = false }: Omit<ReSearchOptions, "tools">,
): Recipe {
  if (template === "base") {
    throw new SeekError("ERR_ARGUMENT", "template: expected instruct with tools, got base");
  }
  const base = reSearch({ variant, faithful });
  return {
    ...base,
    format: toolFormat(tools.tools, { templateText, faithful }),
    tools,
    limits: {
      ...base.limits,
      maxTurns: 5,
      maxResponseTokens: 512,
      maxObservationTokens: 2048,
      // 1,536 of the prompt, 6,656 of everything behind it.
      maxTokens: 8192,
      // The original's while it trains.
      searchTimeoutMs: 10_000,
    },
    sampling: { temperature: 1, topP: faithful ? 0.99 : 1 },
    reward: reCallReward({ variant, faithful }),
    algorithm: { ...base.algorithm, clip: { low: 0.2, high: 0.2, dual: 3 }, miniBatches: 4 },
  };
}
