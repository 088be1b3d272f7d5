/** Options of commands that let an agent answer questions, and the agent they describe. */
import { z } from "zod";
import { type Question, readQuestions } from "../data/question.ts";
import { ragR1 } from "../recipes/rag-r1.ts";
import type { Recipe } from "../recipes/recipe.ts";
import { worldRecipe } from "../recipes/world.ts";
import type { AgentParts } from "../rollout/agent.ts";
import type { Search } from "../search/search.ts";
import { searchOptions } from "./search-options.ts";
import type { Session } from "./session.ts";

/** Recipe, data and limits; a limit that is given replaces the recipe's. */
export const agentOptions = {
  ...searchOptions,
  recipe: z.enum(["rag-r1", "world"]).default("rag-r1").describe("prompt, tags and limits"),
  queries: z.enum(["single", "multi"]).default("multi").describe("one query a turn, or several in parallel"),
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
export function recipeOf(options: AgentOptions): Recipe {
  const { maxTurns, maxResponseTokens, maxObservationTokens, maxTokens, documents: topK } = options;
  const given = Object.entries({ maxTurns, maxResponseTokens, maxObservationTokens, maxTokens, topK });
  const recipe = chooseRecipe(options);
  const changes = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  return { ...recipe, limits: { ...recipe.limits, ...changes } };
}

function chooseRecipe({ recipe, queries }: AgentOptions): Recipe {
  return recipe === "world" ? worldRecipe({ queries }) : ragR1({ queries });
}

/** The parts of an agent. */
export function agentParts(
  session: Session,
  search: Search,
  { format, limits, sampling }: Recipe,
): AgentParts {
  const { engine, tokenizer, chatTemplate } = session;
  return { engine, tokenizer, chatTemplate, search, format, limits, sampling };
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
