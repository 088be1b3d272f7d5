/** The search of a service and the agent over it: what commands that serve agents share. */
import type { LocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { Recipe } from "../../../../lib/recipes/recipe.ts";
import type { SequenceSource } from "../../../../lib/rollout/seams.ts";
import type { Search } from "../../../../lib/search/search.ts";
import type { AgentModelParts } from "../../../serve/agent/parts.ts";
import type { ServedModel } from "../../../serve/reply/reply.ts";
import { askedRecipe, recipeAsked } from "../../open/asked-recipe.ts";
import { type AgentOptions, agentOptions } from "../../options/agent-options.ts";
import { askedRecipeOptions } from "../../options/recipe-options.ts";
import { openSearch } from "../../options/search-options.ts";

const { tools: _, ...withoutTools } = agentOptions;

/** Search, recipe and limits of a served agent. */
export const servedAgentOptions = {
  ...withoutTools,
  ...askedRecipeOptions,
};

/** What the options say. */
type ServedAgentOptions = Omit<AgentOptions, "tools" | "recipe"> & {
  readonly recipe?: AgentOptions["recipe"] | undefined;
  readonly model?: string | undefined;
  readonly adapter?: string | undefined;
};

/** The search, and the recipe that goes with it. */
export interface ServedAgentSetting extends Disposable {
  readonly search: Search;
  readonly recipe: Recipe;
  /** Of the recipe. */
  readonly name: string;
}

/** Whether options name what is searched. */
export function namesSearch({
  index,
  retriever,
  shards,
  web,
}: Pick<AgentOptions, "index" | "retriever" | "shards" | "web">): boolean {
  return [index, retriever, shards, web].some((each) => each !== undefined);
}

/**
 * Opens the search. A model of the built-in world has one of its own, and a recipe.
 *
 * @param options - search, recipe, limits; folders of the model and an adapter, where there is one
 * @throws UsageError where nothing is searched; ERR_IO for a folder that is not there
 */
export async function openServedAgentSetting(options: ServedAgentOptions): Promise<ServedAgentSetting> {
  const { model, adapter } = options;
  const asked = await askedRecipe(model === undefined ? undefined : { model, adapter }, options);
  const { choice, world } = asked;
  const { name } = choice;
  const recipe = world?.recipe ?? recipeAsked(asked, options, {});
  if (world !== undefined && !namesSearch(options)) {
    return { search: world.search, recipe, name, [Symbol.dispose]: () => {} };
  }
  const opened = await openSearch(options);
  return { search: opened.search, recipe, name, [Symbol.dispose]: () => opened[Symbol.dispose]() };
}

/** What an agent samples with. */
type AgentPolicy = Pick<LocalPolicy, "tokenizer" | "chatTemplate"> & {
  readonly engine: SequenceSource & { readonly maxTokens: number };
};

/** The language model's name, who lets requests in, and what these have where they do not say it. */
type ServedAs = Pick<AgentModelParts, "admission" | "sampling" | "templateVariables"> & {
  readonly parent: string;
};

/**
 * The agent as a model.
 *
 * @param policy - engine, tokenizer, chat template
 * @param setting - search and recipe
 * @param served - see {@link ServedAs}
 */
export async function servedAgent(
  { engine, tokenizer, chatTemplate }: AgentPolicy,
  { search, recipe, name }: ServedAgentSetting,
  { parent, ...served }: ServedAs,
): Promise<ServedModel> {
  const { agentModel } = await import("../../../serve/agent/agent-model.ts");
  const { format, limits, searchThrough } = recipe;
  return agentModel({
    ...{ id: `agent/${name}`, parent, engine, tokenizer, chatTemplate, search, ...served },
    recipe: { format, limits, searchThrough },
    contextTokens: engine.maxTokens,
  });
}
