/** How a session begins: messages, rendered by the model's chat template, with documents among them. */
import { SeekError } from "../../base/errors.ts";
import { idsOfPrompt, textOfPrompt } from "../../text/tokenizers/spelt-marks.ts";
import type { Format } from "../formats/format.ts";
import type { PromptTemplate, TextCodec } from "../seams.ts";
import type { Segment } from "../trajectory.ts";

/** Stands for the documents until the chat template has been applied; of Unicode's private use. */
export const documentsHere = "\u{F5EE}";

/** How a session begins. */
export interface Opening extends Pick<Format, "system" | "prefix" | "isBare"> {
  /** The user's message. */
  readonly prompt: string;
  /** What was found, for the place that `system` or `prompt` keeps for documents. @default none */
  readonly documents?: string;
}

/** The keys of an opening. */
export const openingKinds = {
  system: "string",
  prompt: "string",
  prefix: "string",
  isBare: "boolean",
  documents: "string",
} as const;

/**
 * The text a model reads before its first turn.
 *
 * @param format - messages and what begins the model's turn
 * @param question - the question
 * @param chatTemplate - of the model; without one, or for a bare prompt, the messages stand alone
 * @returns the prompt
 * @throws ERR_FORMAT when the template leaves a message out; ERR_ARGUMENT when it refuses one
 */
export function promptText(
  { system, prompt, prefix = "", isBare = false }: Pick<Format, "system" | "prompt" | "prefix" | "isBare">,
  question: string,
  chatTemplate?: PromptTemplate,
): string {
  const user = { role: "user", content: prompt(question) };
  const messages = system === undefined ? [user] : [{ role: "system", content: system }, user];
  const rendered = isBare ? undefined : chatTemplate?.render(messages, { addGenerationPrompt: true });
  const lost = messages.find(({ content }) => rendered?.includes(content.trim()) === false);
  if (lost !== undefined) {
    const got = JSON.stringify(rendered?.slice(0, 80));
    throw new SeekError(
      "ERR_FORMAT",
      `chat template: expected the ${lost.role} message in the prompt, got ${got}`,
    );
  }
  return (rendered ?? messages.map(({ content }) => content).join("\n")) + prefix;
}

/**
 * What a sequence is opened with. Documents are encoded by themselves: a spelled-out end-of-turn mark in them stays text, and so does one in
 * the prompt that was cut.
 *
 * @param opening - messages and documents
 * @param model - its tokenizer and chat template
 * @returns segments in order
 * @throws as {@link promptText}
 */
export function openingSegments(
  { documents, ...opening }: Opening,
  {
    tokenizer,
    chatTemplate,
  }: { readonly tokenizer: TextCodec; readonly chatTemplate?: PromptTemplate | undefined },
): Segment[] {
  const text = promptText({ ...opening, prompt: () => opening.prompt }, "", chatTemplate);
  const part = (each: string, beginsText = false): Segment => {
    return { kind: "prompt", tokens: idsOfPrompt(each, tokenizer, { beginsText }), text: textOfPrompt(each) };
  };
  if (documents === undefined) return [part(text, true)];
  const at = text.indexOf(documentsHere);
  const tokens = tokenizer.encode(documents, { parseSpecialTokens: false });
  return [
    part(text.slice(0, at), true),
    { kind: "observation", tokens, text: documents },
    part(text.slice(at + documentsHere.length)),
  ];
}
