/** Options of commands that let an agent answer questions, and the agent they describe. */
import { z } from "zod";
import { SeekError } from "../../../lib/base/errors.ts";
import { type Question, readQuestions } from "../../../lib/data/question.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { ToolBox } from "../../../lib/tools/tool-box.ts";
import { UsageError } from "../command.ts";
import { chooseRecipe, type RecipeParts, recipeOptions } from "./recipe-options.ts";
import { type OpenedSearch, openSearch, searchOptions } from "./search-options.ts";

/** Recipe, data and limits; a limit that is given replaces the recipe's. */
export const agentOptions = {
  ...searchOptions,
  ...recipeOptions,
  tools: z
    .string()
    .optional()
    .describe("of research and agentic-rag-r1: a file of tools to call instead of a search"),
  maxTurns: z.int().min(1).optional().describe("generations of a trajectory"),
  maxResponseTokens: z.int().min(1).optional().describe("tokens of one generation"),
  maxObservationTokens: z.int().min(1).optional().describe("tokens of the documents of one query"),
  maxTokens: z.int().min(1).optional().describe("tokens of a whole trajectory"),
  documents: z.int().min(1).optional().describe("documents per query"),
};

const schema = z.object(agentOptions);

/** What the options say. */
export type AgentOptions = z.output<typeof schema>;

/** The recipe with the limits that were given. */
export function recipeOf(options: AgentOptions, around: RecipeParts = {}): Recipe {
  return withLimits(chooseRecipe(options, around), options);
}

/** A recipe with the limits that were given in place of its own. */
export function withLimits(recipe: Recipe, options: AgentOptions): Recipe {
  const { maxTurns, maxResponseTokens, maxObservationTokens, maxTokens, documents: topK } = options;
  const given = Object.entries({ maxTurns, maxResponseTokens, maxObservationTokens, maxTokens, topK });
  const changes = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return { ...recipe, limits: { ...recipe.limits, ...changes } };
}

/** What an agent meets: its search, and its tools where it has any. */
export interface Surroundings extends AsyncDisposable {
  readonly search: Search;
  readonly tools?: ToolBox;
}

/** Of an agent that never searches. */
export const noSearch: Surroundings = { search: async () => [], [Symbol.asyncDispose]: async () => {} };

/**
 * Opens the search, and with `--tools` the tools; the search then only when one of them searches.
 *
 * @param options - of an agent
 * @param builtIn - the search where no option names one, `@default` there must be one
 * @returns both, closed together
 * @throws UsageError for tools of a recipe that has none; ERR_REMOTE when a retrieval server does not answer
 */
export async function openSurroundings(options: AgentOptions, builtIn?: Search): Promise<Surroundings> {
  refuseTools(options);
  if (options.memoryOnly) return noSearch;
  const opened: OpenedSearch[] = [];
  const openOne = async (): Promise<Search> => {
    const { index, retriever, web } = options;
    if (builtIn && [index, retriever, web].every((each) => each === undefined)) return builtIn;
    if (retriever !== undefined && builtIn === undefined) await tryRetriever(options);
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
    const tools = await openTools(options.tools, { openSearch: openOne, index: options.index });
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

function refuseTools({ tools, recipe, worldPrompt, memoryOnly }: AgentOptions): void {
  if (tools === undefined) return;
  if (memoryOnly) throw new UsageError("--tools: expected without --memory-only, which calls none");
  if (recipe !== "research" && recipe !== "agentic-rag-r1") {
    throw new UsageError(`--tools: the recipe ${recipe} has no tools; research and agentic-rag-r1 have`);
  }
  if (worldPrompt) throw new UsageError("--world-prompt: expected without --tools, which it does not name");
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
