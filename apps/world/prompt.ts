/** The prompt of the built-in world and the chat template of its model. */
import type { QueryMode } from "../../lib/text/observation.ts";

const kInstruction: Readonly<Record<QueryMode, string>> = {
  single: "Answer the question, searching with one query at a time.",
  multi: "Answer the question, searching with up to three queries at a time.",
};

/**
 * The user message for a question: a brief instruction that names the mode, then the question.
 *
 * @example
 * const text = worldPrompt("Who directed Ironroad?", "single");
 * assert.equal(text, "Answer the question, searching with one query at a time.\nQuestion: Who directed Ironroad?\n");
 */
export function worldPrompt(question: string, mode: QueryMode): string {
  return `${kInstruction[mode]}\nQuestion: ${question}\n`;
}

/** The chat template of the world's model, as Jinja for `tokenizer_config.json`. */
export const kChatTemplate =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}" +
  "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

/** The template's marks. */
export const kChatMarks = { user: "<|user|>", assistant: "<|assistant|>", end: "<|end|>" } as const;

/** The prompt as the model reads it: what the chat template makes of one user message. */
export function renderPrompt(question: string, mode: QueryMode): string {
  return `${kChatMarks.user}${worldPrompt(question, mode)}${kChatMarks.assistant}`;
}
