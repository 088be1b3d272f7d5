/** A recipe without a search engine: reasoning and an answer from memory, as Search-R1's R1 baseline is trained. */

import { memoryPrompt } from "../rollout/formats/plain-prompts.ts";
import { firstBlock, tagsOf } from "../rollout/grammars/blocks.ts";
import type { ParseTurn } from "../rollout/grammars/grammar.ts";
import type { Recipe } from "./recipe.ts";

const answerTags = tagsOf("answer");

/** Only an answer is an action: nobody hears a search. */
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
