/** By which recipe a model is asked: the one that is named, else the one that it was trained by, else the usual one. */
import { basename, dirname, join, resolve } from "node:path";
import { defined } from "../../../lib/base/defined.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import type { RecipeParts } from "../../../lib/recipes/named-recipe.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { recordFile } from "../../../lib/train/run/run-record.ts";
import { readRecord } from "../../runs/run-config.ts";
import { foreignNameMessage } from "../config/named-elsewhere.ts";
import { type AgentOptions, recipeOf } from "../options/agent-options.ts";
import { type RecipeChoice, recipeSchema } from "../options/recipe-options.ts";
import type { PolicyFolders } from "./local-policy.ts";
import { type WorldAgent, worldAgent } from "./world-stages.ts";

/** A recipe, and why it is this one. */
export interface AskedRecipe {
  readonly choice: RecipeChoice;
  /** In words; undefined where the options name it. */
  readonly told: string | undefined;
  /** What a model of the built-in world is. */
  readonly world: WorldAgent | undefined;
}

/** What the options say of it. */
type Given = Partial<Pick<AgentOptions, "recipe" | "limits">>;

/**
 * The recipe of a policy: of the options, of its `world.json`, of the `config.yaml` of the run that it came out of, or rag-r1.
 *
 * @param folders - of a model of this machine
 * @param given - the options
 * @throws ERR_IO when there is no such model; ERR_FORMAT when what states the recipe is damaged
 */
export async function askedRecipe(folders: PolicyFolders | undefined, given: Given): Promise<AskedRecipe> {
  const world = folders && (await worldAgent(folders, given));
  if (given.recipe !== undefined) return { choice: given.recipe, told: undefined, world };
  if (world !== undefined) {
    const { recipe, queries } = world.setting;
    const choice = recipeSchema.parse(recipe ?? { name: "world", ...defined({ queries }) });
    refusePromptFile(choice, "world.json");
    return { choice, told: worldText(world), world };
  }
  const trained = folders && (await recipeOfRun(folders));
  if (trained !== undefined) return { ...trained, world };
  const told = `asked by rag-r1's recipe: nothing beside the model states one. Another one: --recipe NAME`;
  return { choice: recipeSchema.parse({ name: "rag-r1" }), told, world };
}

/** A model of the built-in world, in words. */
export function worldText({ setting: { seed, search, recipe } }: WorldAgent): string {
  const gaps = search === "patchy" ? ", whose search has gaps" : "";
  const by = recipe === undefined ? "that world's recipe" : `${recipe.name}'s recipe`;
  return `a model of the built-in world of seed ${seed}${gaps}: it is asked by ${by}`;
}

/** The recipe itself, with the limits and tools that were given. */
export function recipeAsked(
  { choice, world }: AskedRecipe,
  given: Given,
  { tools }: Pick<RecipeParts, "tools">,
): Recipe {
  const isOwn = world !== undefined && given.recipe === undefined && tools === undefined;
  return isOwn ? world.recipe : recipeOf({ ...given, recipe: choice }, { tools });
}

/** What `train` noted in the folder of the run whose model or checkpoint a policy is. */
async function recipeOfRun({
  model,
  adapter,
}: PolicyFolders): Promise<Omit<AskedRecipe, "world"> | undefined> {
  for (const folder of [adapter, model]) {
    const run = folder === undefined ? undefined : runOf(resolve(folder));
    const { config, isOwn = false } = (run === undefined ? undefined : await readRecord(run)) ?? {};
    const { recipe, baseline } = config ?? {};
    // A baseline has the limits of a recipe alone.
    if (run === undefined || recipe === undefined || baseline !== undefined) continue;
    const parsed = recipeSchema.safeParse(recipe);
    if (!parsed.success) {
      const remedy = "Remedy: --recipe NAME";
      throw new SeekError("ERR_FORMAT", `${join(run, recordFile)}: recipe: not one of train. ${remedy}`);
    }
    if (!isOwn) refusePromptFile(parsed.data, join(run, recordFile));
    return {
      choice: parsed.data,
      told: `asked by ${parsed.data.name}'s recipe, as it was trained in ${run}`,
    };
  }
  return undefined;
}

/** A prompt's file that somebody else may have named. @throws ERR_STATE */
function refusePromptFile(choice: RecipeChoice, from: string): void {
  if (!("promptFile" in choice) || choice.promptFile === undefined) return;
  const what = `${from}: path recipe.promptFile: ${choice.promptFile}`;
  throw new SeekError("ERR_STATE", foreignNameMessage(what, `--recipe ${choice.name},promptFile=FILE`));
}

/** The run that a folder with a run's name for it would be of. */
function runOf(folder: string): string | undefined {
  const above = dirname(folder);
  if (basename(above) === "checkpoints") return dirname(above);
  return basename(folder) === "model" ? above : undefined;
}
