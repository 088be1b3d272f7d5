/** RAG-R1 (arXiv 2507.02962): think, search with one or several queries at a time, answer; rewarded by exact match. */
import { checkOptions } from "../base/check-options.ts";
import { emReward } from "../reward/reward.ts";
import { wholeTextEmReward } from "../reward/systems/search-r1.ts";
import { ragFormat } from "../rollout/formats/format.ts";
import { originalRagFormat } from "../rollout/formats/original-rag.ts";
import { defaultLimits } from "../rollout/limits.ts";
import type { QueryMode } from "../text/observation.ts";
import { algorithms } from "../train/algorithm/algorithm.ts";
import type { Recipe } from "./recipe.ts";

/**
 * Options of RAG-R1, with its known defects mended: answers are read from the policy's words only, parallel queries
 * are at most three and may hold commas inside of double quotes, long documents never cost the closing tag, letters
 * of all scripts stay as they are, the last turn is announced, and tokens are drawn from the whole distribution that
 * their log-probabilities describe (the original drew with top-p 0.95).
 *
 * `faithful` takes those defects back, byte for byte in prompts and observations, except for what the laws forbid:
 * sampled ids are never encoded anew, and observations stay out of the advantages.
 *
 * @param options - `queries`: one a turn, or up to three in parallel; `faithful`, `@default` false
 * @returns a recipe; change it by spreading
 * @throws ERR_ARGUMENT for an unknown key or a value of another type
 * @example
 * const { format, limits } = ragR1({ queries: "multi" });
 * assert.deepEqual([format.mode, limits.maxTurns], ["multi", 5]);
 */
export function ragR1(options: { readonly queries: QueryMode; readonly faithful?: boolean }): Recipe {
  checkOptions("ragR1", options, { queries: ["single", "multi"], faithful: "boolean" }, ["queries"]);
  const { queries, faithful = false } = options;
  return {
    format: faithful ? originalRagFormat(queries, "rag-r1") : ragFormat(queries),
    limits: defaultLimits,
    sampling: { temperature: 1, topP: faithful ? 0.95 : 1 },
    reward: faithful ? wholeTextEmReward : emReward,
    // PPO with a critic, KL to the start model in the reward; mini-batches of 128 of 512 trajectories.
    algorithm: algorithms.ppo,
    training: {
      steps: 500,
      batchQuestions: 512,
      samples: 1,
      learningRate: 1e-6,
      warmupSteps: 142,
      decay: "constant",
      criticLearningRate: 1e-5,
      criticWarmupSteps: 7,
      weightDecay: 0.01,
    },
  };
}
