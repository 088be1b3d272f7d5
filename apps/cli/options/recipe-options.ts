/** Options that choose a recipe, and the recipe they describe. */
import { z } from "zod";
import { codeOf } from "../../../lib/base/errors.ts";
import { type ChosenRecipe, recipeChoices } from "../../../lib/recipes/choices.ts";
import { agenticOptions, type RecipeParts, recipeOfChoice } from "../../../lib/recipes/named-recipe.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { agenticWorldRecipe } from "../../world/recipes/agentic-world.ts";
import { memoryOnly } from "../../world/recipes/memory-only.ts";
import { withWorldPrompt, worldRecipe } from "../../world/recipes/world.ts";
import { UsageError } from "../command.ts";
import { inGroup } from "../fields.ts";

const worldPrompt = {
  worldPrompt: z
    .boolean()
    .default(false)
    .describe("Asks as the built-in world does, for models that know only its prompt."),
};

const alone = {
  memoryOnly: z
    .boolean()
    .default(false)
    .describe("Reasons and answers from memory, without a search, for comparison."),
};

const worldChoice = z
  .strictObject({ name: z.literal("world"), queries: recipeChoices["rag-r1"].shape.queries })
  .describe("As rag-r1, with the built-in world's short prompt.");

/** The published recipes as they can run on the built-in world too, and the world's own. */
export const recipeSchema = z.discriminatedUnion("name", [
  recipeChoices["rag-r1"].extend({ ...alone, ...worldPrompt }).describe(helpOf("rag-r1")),
  recipeChoices["search-r1"].extend({ ...alone, ...worldPrompt }).describe(helpOf("search-r1")),
  recipeChoices.research.extend(worldPrompt).describe(helpOf("research")),
  recipeChoices["r1-searcher"].extend(worldPrompt).describe(helpOf("r1-searcher")),
  recipeChoices["agentic-rag-r1"].extend(worldPrompt).describe(helpOf("agentic-rag-r1")),
  worldChoice,
]);

function helpOf(name: keyof typeof recipeChoices): string {
  return recipeChoices[name].description ?? "";
}

/** The recipe's name and what it lets one choose. */
export const recipeOptions = inGroup("Agent", {
  recipe: recipeSchema
    .default(recipeSchema.parse({ name: "rag-r1" }))
    .describe("What the agent says and may do, its reward and its algorithm.")
    .meta({ head: "name", description: "What the agent says and may do, its reward and its algorithm." }),
});

/** The same of a command that asks a model, which may state its recipe itself. */
export const askedRecipeOptions = {
  recipe: recipeSchema.optional().meta({
    ...{ head: "name", group: "Agent" },
    description:
      "What the agent says and may do (the one that the model was trained by, where its folder or run states one; else rag-r1).",
  }),
};

/** A recipe's name and all of its choices. */
export type RecipeChoice = z.output<typeof recipeSchema>;

/** A recipe's name and those of its choices that are not the default. */
export type RecipeInput = z.input<typeof recipeSchema>;

/**
 * The recipe that was chosen.
 *
 * @param input - its name and choices
 * @param parts - what it is made of besides: tools, and a judge that for all but agentic-rag-r1 is the whole reward
 * @returns the recipe
 * @throws UsageError when choices do not go together
 */
export function chooseRecipe(input: RecipeInput, parts: RecipeParts = {}): Recipe {
  const choice = recipeSchema.parse(input);
  try {
    return recipeOf(choice, parts);
  } catch (error) {
    if (codeOf(error) !== "ERR_ARGUMENT") throw error;
    throw new UsageError(`--recipe: ${(error as Error).message}`, { cause: error });
  }
}

function recipeOf(choice: RecipeChoice, { tools, judge }: RecipeParts): Recipe {
  const { name } = choice;
  if (judge?.relevance !== undefined && name !== "agentic-rag-r1") {
    throw new UsageError(`--judge: relevance: expected only with agentic-rag-r1, got ${name}`);
  }
  if (judge !== undefined && "accuracy" in choice && choice.accuracy !== undefined) {
    throw new UsageError("--recipe: accuracy: expected without --judge, which judges answers");
  }
  const named =
    name === "world" ? worldRecipe({ queries: choice.queries }) : playableRecipe(choice, { tools, judge });
  const isWhole = judge !== undefined && name !== "agentic-rag-r1";
  const scored = isWhole ? { ...named, reward: judge.accuracy } : named;
  if (!("memoryOnly" in choice && choice.memoryOnly)) return scored;
  if (choice.worldPrompt) {
    throw new UsageError("--recipe: memoryOnly: expected without worldPrompt, which asks to search");
  }
  return memoryOnly(scored);
}

type Playable = Exclude<RecipeChoice, { readonly name: "world" }>;

function playableRecipe(given: Playable, parts: RecipeParts): Recipe {
  const choice = publishedChoice(given);
  if (!given.worldPrompt) return recipeOfChoice(choice, parts);
  if (choice.name === "agentic-rag-r1") return agenticWorldRecipe(agenticOptions(choice, parts.judge));
  return withWorldPrompt(recipeOfChoice(choice, parts));
}

/** Without what only the command line knows, since recipes refuse unknown keys. */
function publishedChoice({ worldPrompt: _, ...choice }: Playable): ChosenRecipe {
  if (!("memoryOnly" in choice)) return choice;
  const { memoryOnly: __, ...published } = choice;
  return published;
}
