/** Options of commands that let an agent answer questions, and the agent they describe. */
import { z } from "zod";
import { defined } from "../../../lib/base/defined.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { type Question, readQuestions } from "../../../lib/data/question.ts";
import type { RecipeParts } from "../../../lib/recipes/named-recipe.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { ToolBox } from "../../../lib/rollout/tools/tool-box.ts";
import type { Search } from "../../../lib/search/search.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { inGroup } from "../fields.ts";
import { chooseRecipe, recipeOptions } from "./recipe-options.ts";
import { type OpenedSearch, openSearch, searchOptions } from "./search-options.ts";

const limits = z.strictObject({
  maxTurns: z.int().min(1).optional().describe("Generations of a trajectory."),
  maxResponseTokens: z.int().min(1).optional().describe("Tokens of one generation."),
  maxObservationTokens: z.int().min(1).optional().describe("Tokens of the documents of one query."),
  maxTokens: z.int().min(1).optional().describe("Tokens of a whole trajectory."),
  topK: z.int().min(1).optional().describe("Documents per query."),
  searchTimeoutMs: z.int().min(1).optional().describe("A search that takes longer has failed."),
});

/** Search, recipe and limits; a limit that is given replaces the recipe's. */
export const agentOptions = {
  ...searchOptions,
  ...recipeOptions,
  ...inGroup("Agent", {
    tools: z
      .string()
      .optional()
      .describe("Of research and agentic-rag-r1: a file of tools to call instead of a search."),
    limits: limits.optional().describe("Bounds of a trajectory; what is not given is the recipe's."),
  }),
};

const schema = z.object(agentOptions);

/** What the options say. */
export type AgentOptions = z.output<typeof schema>;

/** The recipe with the limits that were given. */
export function recipeOf(options: Pick<AgentOptions, "recipe" | "limits">, parts: RecipeParts = {}): Recipe {
  return withLimits(chooseRecipe(options.recipe, parts), options);
}

/** A recipe with the limits that were given in place of its own. */
export function withLimits(recipe: Recipe, { limits }: Pick<AgentOptions, "limits">): Recipe {
  return { ...recipe, limits: { ...recipe.limits, ...defined(limits ?? {}) } };
}

/** An agent's environment: its search, and its tools where it has any. */
export interface Environment extends AsyncDisposable {
  readonly search: Search;
  readonly tools?: ToolBox;
}

/** Of an agent that never searches. */
export const noSearch: Environment = { search: async () => [], [Symbol.asyncDispose]: async () => {} };

/**
 * Opens the search, and with `--tools` the tools; the search then only when one of them searches.
 *
 * @param options - of an agent
 * @param io - has the variables that a file of tools may name
 * @param builtIn - the search where no option names one, `@default` there must be one
 * @returns both, closed together
 * @throws UsageError for tools of a recipe that has none; ERR_REMOTE when a retrieval server does not answer
 */
export async function openEnvironment(
  options: AgentOptions,
  { env }: Pick<CommandIo, "env">,
  builtIn?: Search,
): Promise<Environment> {
  refuseTools(options);
  if (needsNoSearch(options)) return noSearch;
  const opened: OpenedSearch[] = [];
  const openOne = async (): Promise<Search> => {
    const { index, retriever, shards, web } = options;
    const servers = retriever ?? shards;
    if (builtIn && [index, servers, web].every((each) => each === undefined)) return builtIn;
    if (servers !== undefined && builtIn === undefined) await tryRetriever(options);
    const search = await openSearch(options);
    opened.push(search);
    return search.search;
  };
  const closeSearch = (): void => {
    for (const each of opened) each[Symbol.dispose]();
  };
  if (options.tools === undefined) {
    return { search: await openOne(), [Symbol.asyncDispose]: async () => closeSearch() };
  }
  const { openTools } = await import("./tool-options.ts");
  try {
    const tools = await openTools(options.tools, { openSearch: openOne, index: options.index?.folder, env });
    const close = async (): Promise<void> => {
      await tools[Symbol.asyncDispose]();
      closeSearch();
    };
    return { ...noSearch, tools: tools.box, [Symbol.asyncDispose]: close };
  } catch (error) {
    closeSearch();
    throw error;
  }
}

/** A wrong address shows before the first question, and not as failed searches of a whole training. */
async function tryRetriever(options: AgentOptions): Promise<void> {
  using hasty = await openSearch({ ...options, retries: 1 });
  await hasty.search(["Who?"], { topK: 1 });
}

/** @throws UsageError for tools of a baseline, which calls none */
export function refuseIdleTools({
  tools,
  baseline,
}: {
  readonly tools?: string | undefined;
  readonly baseline?: string | undefined;
}): void {
  if (tools === undefined || baseline === undefined) return;
  throw new UsageError("--tools: expected without --baseline, which has none");
}

function refuseTools({ tools, recipe }: AgentOptions): void {
  if (tools === undefined) return;
  const { name } = recipe;
  if (name !== "research" && name !== "agentic-rag-r1") {
    throw new UsageError(`--tools: the recipe ${name} has no tools; research and agentic-rag-r1 have`);
  }
  if (recipe.worldPrompt) throw new UsageError("--tools: expected without worldPrompt, which names none");
}

function needsNoSearch({ recipe }: AgentOptions): boolean {
  return "memoryOnly" in recipe && recipe.memoryOnly;
}

/** All questions of a file, or the first `limit`. */
export async function loadQuestions(path: string, limit = Number.POSITIVE_INFINITY): Promise<Question[]> {
  const questions: Question[] = [];
  for await (const question of readQuestions(path)) {
    if (questions.length >= limit) break;
    questions.push(question);
  }
  if (questions.length > 0) return questions;
  throw new SeekError("ERR_FORMAT", `${path}: expected at least one question, got none`);
}
