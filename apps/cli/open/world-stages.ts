/** Recipes on the built-in world: the stages of a training there, and the recipe of a model that came out of one. */

import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { DemoStage } from "../../demo/recipe-demo.ts";
import { fitToWorld, worldSizes } from "../../world/recipes/world-training.ts";
import { recipeOfWorld, type WorldSetting } from "../../world/world-file.ts";
import { chooseRecipe, type RecipeChoice, recipeSchema } from "../options/recipe-options.ts";

/**
 * How a recipe is trained on the built-in world.
 *
 * @param choice - its name and choices
 * @returns its stages, each with the sizes that fit the world
 */
export function stagesOnWorld(choice: RecipeChoice): readonly [DemoStage, ...DemoStage[]] {
  const { name } = choice;
  if (name === "agentic-rag-r1") {
    const recipe = chooseRecipe({ ...choice, worldPrompt: true });
    return [{ name: "rl", recipe, sizes: worldSizes[name] }];
  }
  if (name !== "r1-searcher") {
    const sizes = name === "search-r1" && choice.algorithm === "grpo" ? "search-r1 grpo" : name;
    return [{ name: "rl", recipe: chooseRecipe(choice), sizes: worldSizes[sizes] }];
  }
  const { stage = "auto", searchShare: untilSearchShare } = choice;
  const answering = (only: 2 | "zero"): DemoStage => ({
    ...{ name: `stage-${only}`, recipe: chooseRecipe({ ...choice, stage: only }) },
    sizes: worldSizes["r1-searcher 2"],
  });
  const searching: DemoStage = {
    ...{ name: "stage-1", recipe: chooseRecipe({ ...choice, stage: 1 }) },
    ...{ sizes: worldSizes["r1-searcher 1"], untilSearchShare },
  };
  if (stage === "auto") return [searching, answering(2)];
  return [stage === 1 ? searching : answering(stage)];
}

/** The recipe that a world model was trained by, its last stage's where it had several. */
export function recipeOfSetting(setting: WorldSetting): Recipe {
  if (setting.recipe === undefined) return recipeOfWorld(setting);
  const { recipe, sizes } = stagesOnWorld(recipeSchema.parse(setting.recipe)).at(-1)!;
  return fitToWorld(recipe, sizes);
}
