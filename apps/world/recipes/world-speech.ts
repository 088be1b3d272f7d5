/** What the built-in world's teacher says as an agent of each recipe. */

import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { r1SearcherTags } from "../../../lib/rollout/formats/r1-searcher.ts";
import { kChatMarks } from "../prompt.ts";
import { type MemorySpeech, visibleRows } from "../teachers/agentic-teacher.ts";
import { type Demonstration, demonstrationBatch } from "../teachers/demonstrations.ts";
import { memoryDemonstrationBatch } from "../teachers/memory-demonstrations.ts";
import { ragSpeech, type Speech } from "../teachers/speech.ts";
import type { Habits } from "../teachers/teacher.ts";
import { withWorldPrompt } from "./world.ts";

/** The families of tags. */
export type SpeechFamily = "rag" | "research" | "r1-searcher";

/** How a family searches and answers; an answer ends with the world's mark of an ended turn. */
export type SpokenTurns = Pick<Speech, "search" | "answer">;

/** The families, and agents with a memory stack, who have a teacher of their own. */
export type TeachingFamily = SpeechFamily | "memory";

const { query, queryEnd } = r1SearcherTags;

/** The turns of every family. */
export const spokenTurns: Readonly<Record<SpeechFamily, SpokenTurns>> = {
  rag: ragSpeech,
  research: {
    search: ragSpeech.search,
    // Blanks inside of the box: the world's tokenizer has a piece for a name behind a blank, and letters for others.
    answer: (thought, answer) =>
      `<think>${thought} </think>\n<answer> The final answer is \\[ \\boxed{ ${answer} } \\] </answer>${kChatMarks.end}`,
  },
  // The prompt has begun the thought.
  "r1-searcher": {
    search: (thought, queries) => `${thought} ${query} ${queries.join(" ")} ${queryEnd}`,
    answer: (thought, answer) => `${thought} </think>\n<answer> ${answer} </answer>${kChatMarks.end}`,
  },
};

/**
 * The world's demonstrations in the words of a recipe under the world's prompt: what `withWorldPrompt(recipe)` makes of
 * the same turns in a rollout, token for token.
 *
 * @param recipe - observations and what begins the model's turn
 * @param family - its tags
 * @returns a speech for `demonstrations`
 */
export function worldSpeech(recipe: Recipe, family: SpeechFamily): Speech {
  const { prompt, prefix = "", observation } = withWorldPrompt(recipe).format;
  return {
    ...spokenTurns[family],
    prompt: (question) => `${kChatMarks.user}${prompt(question)}${kChatMarks.assistant}${prefix}`,
    observation: (queries, documents) => observation(queries, documents, (text) => text),
  };
}

/**
 * What the teacher of memory-stack agents reads: the prompt, and observations, as in a rollout.
 *
 * @param recipe - its prompt and observations
 * @returns a speech for `memoryDemonstrationBatch`
 */
export function worldMemorySpeech(recipe: Recipe): MemorySpeech {
  const { prompt, observation } = withWorldPrompt(recipe).format;
  return {
    prompt: (question) => `${kChatMarks.user}${prompt(question)}${kChatMarks.assistant}`,
    observation: (query, documents) => observation([query], [documents], (text) => text),
  };
}

/** Rows to learn from, those of one fresh world for each index. */
export type Teaching = (
  index: number,
  options: { readonly seed: number; readonly perWorld: number; readonly careful?: number },
) => readonly Pick<Demonstration, "segments">[];

/**
 * The world's teacher for a recipe.
 *
 * @param recipe - its words
 * @param start - the family of its tags; what the teacher looks up, `@default` as the shipped model's teacher
 * @returns for each world the conversations of its teacher, as far as each was in sight
 */
export function worldTeaching(
  recipe: Recipe,
  { family, habits }: { readonly family: TeachingFamily; readonly habits?: Habits },
): Teaching {
  const common = { topK: recipe.limits.topK, habits };
  if (family === "memory") {
    const speech = worldMemorySpeech(recipe);
    return (index, how) => {
      const shown = memoryDemonstrationBatch(index, { ...common, ...how, speech });
      return shown.flatMap(({ segments }) => visibleRows(segments).map((row) => ({ segments: row })));
    };
  }
  const speech = worldSpeech(recipe, family);
  return (index, how) => demonstrationBatch(index, { ...common, ...how, speech, mode: recipe.format.mode });
}
