/** What the built-in world's teacher says as an agent of each recipe. */
import { searcherTags } from "../rollout/r1-searcher.ts";
import { kChatMarks } from "../world/prompt.ts";
import { ragSpeech, type Speech } from "../world/speech.ts";
import type { Recipe } from "./recipe.ts";
import { withWorldPrompt } from "./world.ts";

/** The families of tags. */
export type SpeechFamily = "rag" | "research" | "r1-searcher";

/** How a family searches and answers; an answer ends with the world's mark of an ended turn. */
export type SpokenTurns = Pick<Speech, "search" | "answer">;

const { query, queryEnd } = searcherTags;

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
