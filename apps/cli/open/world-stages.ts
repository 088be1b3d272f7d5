/** Recipes on the built-in world: the stages of a training there, and the agent that came out of one. */
import { existsSync } from "node:fs";
import { SeekError } from "../../../lib/base/errors.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { DemoStage } from "../../world/demo/recipe-demo.ts";
import { librarySearch } from "../../world/library.ts";
import { fitToWorld, worldSizes } from "../../world/recipes/world-training.ts";
import { createWorld } from "../../world/world.ts";
import { recipeOfWorld, settingOfPolicy, type WorldSetting, withRecipe } from "../../world/world-file.ts";
import { type AgentOptions, withLimits } from "../options/agent-options.ts";
import { chooseRecipe, type RecipeChoice, recipeSchema } from "../options/recipe-options.ts";
import { type PolicyFolders, policyFolders } from "./local-policy.ts";

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

/** Of a model of the built-in world: where it was trained, how it is asked, and what it searches. */
export interface WorldAgent {
  readonly setting: WorldSetting;
  readonly recipe: Recipe;
  readonly search: Search;
}

/**
 * The agent that a model of the built-in world is.
 *
 * @param given - folders of the model and of an adapter
 * @param asked - a recipe in place of its own, and limits in place of the recipe's
 * @returns undefined for any other model
 * @throws ERR_IO when there is no such model; ERR_FORMAT for a `world.json` that says something else
 */
export async function worldAgent(
  given: PolicyFolders,
  { recipe: named, limits }: Partial<Pick<AgentOptions, "recipe" | "limits">>,
): Promise<WorldAgent | undefined> {
  const folders = await policyFolders(given);
  if (!existsSync(folders.model)) throw new SeekError("ERR_IO", `${folders.model}: no such file or folder`);
  const own = await settingOfPolicy(folders);
  if (own === undefined) return undefined;
  const setting = named === undefined ? own : withRecipe(own, named);
  const search = librarySearch(createWorld({ seed: setting.seed }).passages);
  return { setting, recipe: withLimits(recipeOfSetting(setting), { limits }), search };
}

/** The recipe that a world model was trained by, its last stage's where it had several. */
function recipeOfSetting(setting: WorldSetting): Recipe {
  if (setting.recipe === undefined) return recipeOfWorld(setting);
  const { recipe, sizes } = stagesOnWorld(recipeSchema.parse(setting.recipe)).at(-1)!;
  return fitToWorld(recipe, sizes);
}
