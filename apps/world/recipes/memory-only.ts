/** A recipe without a search engine: reasoning and an answer from memory, as Search-R1's R1 baseline is trained. */

import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { memoryPrompt } from "../../../lib/rollout/formats/plain-prompts.ts";
import { firstBlock, tagsOf } from "../../../lib/rollout/grammars/blocks.ts";
import type { ParseTurn } from "../../../lib/rollout/grammars/grammar.ts";

const answerTags = tagsOf("answer");

/** Only an answer is an action: a search is not read. */
const parseAnswer: ParseTurn = (turn) => {
  const block = firstBlock(turn, answerTags);
  if (block === undefined) return { kind: "invalid", reason: "no action" };
  return { kind: "answer", answer: block.content, end: block.end };
};

/**
 * The same reward, algorithm and sizes for an agent that never searches, to tell what searching is worth. There is one
 * turn, whose prompt speaks of no search.
 *
 * @param recipe - one whose answers stand in answer tags
 * @returns the recipe with another format
 * @example
 * const { format, limits } = memoryOnly(searchR1());
 * assert.deepEqual([limits.maxTurns, format.prompt("who?").includes("search")], [1, false]);
 */
export function memoryOnly(recipe: Recipe): Recipe {
  const { system: _, prefix: __, ...format } = recipe.format;
  return {
    ...recipe,
    format: { ...format, prompt: memoryPrompt, turnEnds: [answerTags.close], parse: parseAnswer },
    limits: { ...recipe.limits, maxTurns: 1 },
  };
}
