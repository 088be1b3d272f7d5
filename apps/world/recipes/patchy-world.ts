/** The built-in world behind a search with gaps: an empty result is no reason to guess, other words may find it. */
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import { nameGaps, patchySearch } from "../story/patchy.ts";
import { worldRecipe } from "./world.ts";

/** Documents per query. */
export const kPatchyTopK = 1;

/**
 * The world's recipe with a search that understands one query in four only in other words, and two turns more for
 * asking again.
 *
 * @param options - `queries`: one a turn, or several in parallel
 * @returns a recipe for the world's search
 * @example
 * assert.equal(patchyWorldRecipe({ queries: "multi" }).limits.maxTurns, 6);
 */
export function patchyWorldRecipe(options: { readonly queries: QueryMode }): Recipe {
  const recipe = worldRecipe(options);
  return {
    ...recipe,
    format: {
      ...recipe.format,
      observation: (queries, documents, limit) =>
        recipe.format.observation(queries, nameGaps(queries, documents), limit),
    },
    limits: { ...recipe.limits, maxTurns: 6, topK: kPatchyTopK },
    searchThrough: patchySearch,
    training: { ...recipe.training, steps: 16, batchQuestions: 48, warmupSteps: 3 },
  };
}
