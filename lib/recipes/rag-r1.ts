/** RAG-R1 (arXiv 2507.02962): think, search with one or several queries at a time, answer; rewarded by exact match. */
import { emReward } from "../reward/reward.ts";
import { ragFormat } from "../rollout/format.ts";
import { defaultLimits } from "../rollout/rollout.ts";
import type { QueryMode } from "../text/observation.ts";
import { algorithms } from "../train/algorithm.ts";
import type { Recipe } from "./recipe.ts";

/**
 * Options of RAG-R1, with its known defects mended: answers are read from the policy's words only, parallel queries
 * are at most three and may hold commas inside of double quotes, long documents never cost the closing tag, letters
 * of all scripts stay as they are, the last turn is announced, and tokens are drawn from the whole distribution that
 * their log-probabilities describe (the original drew with top-p 0.95).
 *
 * @param options - `queries`: one a turn, or up to three in parallel
 * @returns a recipe; change it by spreading
 * @example
 * const { format, limits } = ragR1({ queries: "multi" });
 * assert.deepEqual([format.mode, limits.maxTurns], ["multi", 5]);
 */
export function ragR1({ queries }: { readonly queries: QueryMode }): Recipe {
  return {
    format: ragFormat(queries),
    limits: defaultLimits,
    sampling: { temperature: 1, topP: 1 },
    reward: emReward,
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
