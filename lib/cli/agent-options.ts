/** Options of commands that let an agent answer questions, and the agent they describe. */
import { z } from "zod";
import { type Question, readQuestions } from "../data/question.ts";
import type { Recipe } from "../recipes/recipe.ts";
import type { AgentParts } from "../rollout/agent.ts";
import type { Search } from "../search/search.ts";
import { chooseRecipe, recipeOptions } from "./recipe-options.ts";
import { searchOptions } from "./search-options.ts";
import type { Session } from "./session.ts";

/** Recipe, data and limits; a limit that is given replaces the recipe's. */
export const agentOptions = {
  ...searchOptions,
  ...recipeOptions,
  maxTurns: z.int().min(1).optional().describe("generations of a trajectory"),
  maxResponseTokens: z.int().min(1).optional().describe("tokens of one generation"),
  maxObservationTokens: z.int().min(1).optional().describe("tokens of the documents of one query"),
  maxTokens: z.int().min(1).optional().describe("tokens of a whole trajectory"),
  documents: z.int().min(1).optional().describe("documents per query"),
};

const schema = z.object(agentOptions);

/** What the options say. */
export type AgentOptions = z.output<typeof schema>;

/** The recipe with the limits that were given; `algorithm` is the one that was asked for. */
export function recipeOf(options: AgentOptions, algorithm?: string): Recipe {
  const { maxTurns, maxResponseTokens, maxObservationTokens, maxTokens, documents: topK } = options;
  const given = Object.entries({ maxTurns, maxResponseTokens, maxObservationTokens, maxTokens, topK });
  const recipe = chooseRecipe(options, algorithm);
  const changes = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return { ...recipe, limits: { ...recipe.limits, ...changes } };
}

/** The parts of an agent. */
export function agentParts(session: Session, found: Search, recipe: Recipe): AgentParts {
  const { engine, tokenizer, chatTemplate } = session;
  const { format, perform, limits, sampling } = recipe;
  const search = recipe.searchThrough?.(found) ?? found;
  const parts = { engine, tokenizer, chatTemplate, search, format, limits, sampling };
  return perform ? { ...parts, perform } : parts;
}

/** All questions of a file, or the first `limit`. */
export async function loadQuestions(path: string, limit = Number.POSITIVE_INFINITY): Promise<Question[]> {
  const questions: Question[] = [];
  for await (const question of readQuestions(path)) {
    if (questions.length >= limit) break;
    questions.push(question);
  }
  return questions;
}
