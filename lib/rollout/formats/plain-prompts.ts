/** Prompts without a search: from memory, and with documents that are given, as Search-R1's two comparisons have them. */
import type { TitledText } from "../../text/observation.ts";
import { asQuestion } from "./format.ts";

const answerAlone =
  "Then give the answer alone inside <answer> and </answer>, without explanation. For example, <answer> Beijing </answer>.";

/**
 * Asks for reasoning and an answer from memory: what RL without a search engine trains on.
 *
 * @example
 * assert.ok(memoryPrompt("who?").endsWith("Question: who?\n"));
 */
export function memoryPrompt(question: string): string {
  return `Answer the given question. First reason inside <think> and </think>. ${answerAlone} Question: ${asQuestion(question)}\n`;
}

/**
 * Asks for reasoning and an answer from documents that stand in the prompt, numbered and with their titles in brackets.
 *
 * @example
 * const text = documentsPrompt("who?", [{ title: "Ada", text: "She was." }]);
 * assert.ok(text.endsWith("Question: who?\nContext:\nDoc 1(Title: Ada) She was.\n"));
 */
export function documentsPrompt(question: string, documents: readonly TitledText[]): string {
  const context = documents.map(({ title, text }, i) => `Doc ${i + 1}(Title: ${title}) ${text}\n`).join("");
  return (
    "Answer the given question with the help of the documents below it, some of which may be of no use. " +
    `First reason inside <think> and </think>. ${answerAlone} Question: ${asQuestion(question)}\nContext:\n${context}`
  );
}
