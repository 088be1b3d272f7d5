/** Which settings of a training are not those of the recipe that it names. */
import { defined } from "../../../lib/base/defined.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { Settings } from "../../../lib/train/run/settings.ts";
import { optionsByPath } from "../../runs/run-config.ts";

/** A setting of a run. */
export interface OtherSetting {
  /** `limits.maxTurns`. */
  readonly path: string;
  /** As JSON; undefined where only the other has it. */
  readonly own: string | undefined;
  readonly recipes: string | undefined;
}

/** The published recipe that a run's options name; undefined for a recipe of another program, or without one. */
async function recipeIn({ recipe }: Settings): Promise<Recipe | undefined> {
  const { recipeChoices } = await import("../../../lib/recipes/choices.ts");
  const { recipeOfChoice } = await import("../../../lib/recipes/named-recipe.ts");
  const { name, promptFile: _, ...choice } = Object(recipe) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || !Object.hasOwn(recipeChoices, name)) return undefined;
  // Programs know choices that say nothing of training.
  const schema = recipeChoices[name as keyof typeof recipeChoices].strip();
  const { success, data } = schema.safeParse({ name, ...choice });
  return success ? recipeOfChoice(data) : undefined;
}

/** A recipe's training in the words of the options of `train`. */
async function settingsOf(recipe: Recipe, steps: unknown): Promise<Settings> {
  const { optimiserOf, resizedTraining } = await import("../../../lib/recipes/recipe.ts");
  const { algorithm, limits, sampling } = recipe;
  // A warm-up is a share of the steps.
  const training = typeof steps === "number" ? resizedTraining(recipe.training, { steps }) : recipe.training;
  const { batchQuestions, samples, learningRate, warmupSteps, decay } = training;
  const { kl, aggregation, ...rest } = algorithm;
  const critic = { learningRate: training.criticLearningRate, warmupSteps: training.criticWarmupSteps };
  return {
    ...{ steps: recipe.training.steps, batchQuestions, samples, learningRate, warmupSteps, limits },
    algorithm: defined({
      ...{ ...rest, kl: kl ?? { coef: 0 } },
      aggregation: typeof aggregation === "object" ? aggregation.tokensPerSequence : aggregation,
    }),
    temperature: sampling.temperature ?? 1,
    optimizer: defined({ decay, ...optimiserOf(training) }),
    ...(algorithm.advantage === "gae" ? { critic } : {}),
  };
}

/** Where what is kept or how fast it goes is set, and nothing that is learnt. */
const ofMachine = /^(algorithm\.name|optimizer\.stateFolder)$/;

/**
 * Settings that differ from the recipe's own.
 *
 * @param config - of a run, every option resolved
 * @returns undefined where the recipe is not known here
 */
export async function otherSettings(config: Settings): Promise<OtherSetting[] | undefined> {
  const recipe = await recipeIn(config);
  if (recipe === undefined) return undefined;
  const expected = await settingsOf(recipe, config.steps);
  const keys = Object.keys(expected);
  const own = valuesOf(Object.fromEntries(keys.map((key) => [key, config[key]])));
  const recipes = valuesOf(expected);
  const paths = [...new Set([...recipes.keys(), ...own.keys()])].filter((path) => !ofMachine.test(path));
  return paths
    .map((path) => ({ path, own: own.get(path), recipes: recipes.get(path) }))
    .filter((each) => each.own !== each.recipes)
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function valuesOf(settings: Settings): Map<string, string> {
  return new Map(optionsByPath(settings).map(({ path, value }) => [path, value]));
}
