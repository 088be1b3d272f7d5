/** How a demonstration is worded: the tags and observations of one kind of agent. */
import { observationText, type QueryMode, type TitledText } from "../../../lib/text/observation.ts";
import { renderPrompt } from "../prompt.ts";

/** The words around what the teacher thinks, asks, finds and answers. Thoughts begin with a space. */
export interface Speech {
  readonly prompt: (question: string, mode: QueryMode) => string;
  readonly search: (thought: string, queries: readonly string[]) => string;
  readonly observation: (
    queries: readonly string[],
    documents: readonly (readonly TitledText[])[],
    mode: QueryMode,
  ) => string;
  /** Ends with the mark that ends a turn. */
  readonly answer: (thought: string, answer: string) => string;
}

/** The words of RAG-R1's agents, which the shipped model was trained on. */
export const ragSpeech: Speech = {
  prompt: renderPrompt,
  search: (thought, queries) => `<think>${thought} </think>\n<search> ${queries.join(", ")} </search>`,
  observation: observationText,
  answer: (thought, answer) => `<think>${thought} </think>\n<answer> ${answer} </answer><|end|>`,
};
