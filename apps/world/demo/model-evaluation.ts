/** A world model on the held-out questions: with both kinds of search, greedily and drawn as in training. */
import type { LocalPolicy } from "../../../lib/engine/local-policy.ts";
import { agentPartsOf } from "../../../lib/recipes/plan.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import { patchyWorldRecipe } from "../recipes/patchy-world.ts";
import { worldRecipe } from "../recipes/world.ts";
import type { WorldSetting } from "../world-file.ts";
import { evaluateHeldOut, type HeldOut } from "./held-out.ts";
import type { OpenWorld } from "./world-search.ts";

/** Kinds of search: one with gaps, and a plain index of the same passages. */
export type WorldSearch = WorldSetting["search"];

/** How answers are chosen: the likeliest token each time, or tokens drawn at temperature 1. */
export type Decoding = "greedy" | "drawn";

/** One model in one mode, on the same questions each time. */
export type ModelEvaluation = Readonly<Record<WorldSearch, Readonly<Record<Decoding, HeldOut>>>>;

/** What is asked. */
interface EvaluationSetting {
  readonly opened: OpenWorld;
  readonly seed: number;
  /** Held-out questions. @default all */
  readonly numTest?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How an agent asks and what it reads, by kind of search. */
export function searchRecipes(queries: QueryMode): Readonly<Record<WorldSearch, Recipe>> {
  return { patchy: patchyWorldRecipe({ queries }), plain: worldRecipe({ queries }) };
}

/**
 * Lets a model answer the held-out questions four times, all at once, so that the engine batches them.
 *
 * @param policy - the model
 * @param mode - one query a turn, or parallel ones
 * @param setting - the world, and how many of its questions
 */
export async function evaluateModel(
  policy: LocalPolicy,
  mode: QueryMode,
  { opened, seed, numTest, signal }: EvaluationSetting,
): Promise<ModelEvaluation> {
  const questions = opened.world.questions.test.slice(0, numTest);
  const { patchy, plain } = searchRecipes(mode);
  const evaluated = (recipe: Recipe, temperature: number): Promise<HeldOut> =>
    evaluateHeldOut(questions, agentPartsOf(policy, recipe, opened.search), {
      ...{ reward: recipe.reward, sampling: { temperature }, seed, signal },
    });
  const [greedy, drawn, plainGreedy, plainDrawn] = await Promise.all([
    evaluated(patchy, 0),
    evaluated(patchy, 1),
    evaluated(plain, 0),
    evaluated(plain, 1),
  ]);
  return { patchy: { greedy, drawn }, plain: { greedy: plainGreedy, drawn: plainDrawn } };
}
