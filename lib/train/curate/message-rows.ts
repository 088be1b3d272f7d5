/** Conversations as messages, rendered by the model's chat template and cut where its own words begin and end. */
import { SeekError } from "../../base/errors.ts";
import type { PromptTemplate } from "../../rollout/seams.ts";
import type { WrittenSegment } from "./samples.ts";

/** One message of a conversation. */
interface Message {
  readonly role: string;
  readonly content: string;
}

/** A row of Alpaca's format: what to do, with what, and what comes of it; earlier turns as pairs. */
interface AlpacaRow {
  readonly instruction: string;
  readonly input?: string | undefined;
  readonly output: string;
  readonly system?: string | undefined;
  readonly history?: readonly (readonly [string, string])[] | undefined;
}

/**
 * The messages of an Alpaca row; the input follows the instruction on a line of its own.
 *
 * @example
 * const messages = messagesOf({ instruction: "Add.", input: "1 2", output: "3" });
 * assert.deepEqual(messages.map(({ content }) => content), ["Add.\n1 2", "3"]);
 */
export function messagesOf({ instruction, input = "", output, system, history = [] }: AlpacaRow): Message[] {
  const user = (content: string): Message => ({ role: "user", content });
  const assistant = (content: string): Message => ({ role: "assistant", content });
  return [
    ...(system ? [{ role: "system", content: system }] : []),
    ...history.flatMap(([asked, answered]) => [user(asked), assistant(answered)]),
    user(input === "" ? instruction : `${instruction}\n${input}`),
    assistant(output),
  ];
}

/**
 * The segments of a conversation: the policy's are the words of each assistant message with the mark that ends them, as
 * the template writes it; all else is prompt, in which the marks of the template are special tokens.
 *
 * @param messages - at least one of the assistant's
 * @param template - the model's chat template
 * @param where - the row, for errors
 * @throws ERR_FORMAT when there is no template, no answer, or a template that renders an answer unlike what it reads
 */
export function segmentsOfMessages(
  messages: readonly Message[],
  template: PromptTemplate | undefined,
  where: string,
): WrittenSegment[] {
  const wrong = (expected: string): SeekError =>
    new SeekError("ERR_FORMAT", `${where}: expected ${expected}`);
  if (template === undefined) throw wrong("a model with a chat template for messages, got one without");
  const segments: WrittenSegment[] = [];
  let text = "";
  for (const [i, { role }] of messages.entries()) {
    if (role !== "assistant") continue;
    const before = template.render(messages.slice(0, i), { addGenerationPrompt: true });
    const after = template.render(messages.slice(0, i + 1), { addGenerationPrompt: false }).trimEnd();
    if (!before.startsWith(text) || !after.startsWith(before)) {
      throw wrong(`a chat template that keeps what was said, got one that renders message ${i} differently`);
    }
    const given = { kind: "prompt", text: before.slice(text.length) } as const;
    segments.push(given, { kind: "policy", text: after.slice(before.length) });
    text = after;
  }
  if (segments.length === 0) throw wrong("a message of the assistant, got none");
  return segments;
}
