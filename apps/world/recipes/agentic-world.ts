/** Agentic-RAG-R1 on the built-in world, whose encyclopedia has two volumes: half of all first searches find nothing. */

import { type AgenticOptions, agenticRagR1 } from "../../../lib/recipes/agentic-rag-r1.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import type { AgenticTool } from "../../../lib/rollout/formats/agentic-prompts.ts";
import { withVolumes } from "../story/volumes.ts";
import { withWorldPrompt } from "./world.ts";

/** The volumes as tools; a query names one of them. */
const volumeTools: readonly [AgenticTool, AgenticTool] = [
  { name: "A", description: "one half of an encyclopedia." },
  { name: "B", description: "the other half." },
];

/**
 * The recipe for the built-in world: one query a turn, in one of two volumes. Nothing about a name says which of them is
 * about it, so every other search is to be taken back, and what is visible at once is too little for the longest
 * questions unless it is summed up.
 *
 * @param options - those of `agenticRagR1` but for its tools
 * @returns a recipe for the world's search
 * @example
 * const { format } = agenticWorldRecipe();
 * const action = format.parse("<search> [B] who directed Jade </search>", format);
 * assert.deepEqual(action.kind === "search" && action.queries, ["[B] who directed Jade"]);
 */
export function agenticWorldRecipe(
  options: Omit<AgenticOptions, "tools" | "maxQueries" | "box"> = {},
): Recipe {
  const recipe = withWorldPrompt(agenticRagR1({ ...options, tools: volumeTools, maxQueries: 1 }));
  return { ...recipe, searchThrough: withVolumes };
}
