/** The recipe of the built-in world: RAG-R1's grammar with a short prompt and small limits. */

import { checkOptions } from "../../../lib/base/check-options.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { emReward } from "../../../lib/reward/reward.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { worldPrompt } from "../prompt.ts";

/**
 * Options for the built-in world.
 *
 * @param options - `queries`: one a turn, or several in parallel
 * @returns a recipe; change it by spreading
 * @example
 * assert.equal(worldRecipe({ queries: "multi" }).format.maxQueries, 3);
 */
export function worldRecipe(options: { readonly queries: QueryMode }): Recipe {
  const { queries } = checkOptions("worldRecipe", options, { queries: ["single", "multi"] }, ["queries"]);
  return {
    // The demonstrations announce nothing, so an announcement would only be noise to a model this small.
    format: { ...ragFormat(queries), prompt: (question) => worldPrompt(question, queries), lastTurn: "" },
    limits: {
      // Three searches and the answer. The older director of two films takes four single queries, so it is out of
      // reach one query at a time, but two rounds of parallel ones.
      maxTurns: 4,
      maxResponseTokens: 96,
      maxObservationTokens: 160,
      maxTokens: 1024,
      topK: 2,
      searchTimeoutMs: 30_000,
    },
    sampling: { temperature: 1 },
    reward: emReward,
    algorithm: { ...algorithms.ppo, kl: { ...algorithms.ppo.kl, coef: 0.003 }, miniBatches: 2 },
    training: {
      steps: 40,
      batchQuestions: 64,
      samples: 2,
      learningRate: 4e-4,
      warmupSteps: 5,
      // Once nearly all answers are right, whitened advantages are mostly noise: steps must get smaller.
      decay: "linear",
      criticLearningRate: 1e-3,
      criticWarmupSteps: 0,
      weightDecay: 0,
    },
  };
}

/**
 * Another recipe for the built-in world's model, which knows only a short prompt: its tags, observations, limits and
 * rewards under the world's prompt.
 *
 * @param recipe - any recipe
 * @returns the recipe with another prompt
 * @example
 * const { format } = withWorldPrompt(searchR1());
 * assert.match(format.prompt("who?"), /^Answer the question, searching with one query at a time\./);
 */
export function withWorldPrompt(recipe: Recipe): Recipe {
  const { system: _, isBare: __, ...format } = recipe.format;
  return { ...recipe, format: { ...format, prompt: (question) => worldPrompt(question, format.mode) } };
}
