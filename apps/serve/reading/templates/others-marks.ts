/** Marks in what users and tools say, which others wrote. */
import type { Message } from "../../../../lib/text/templates/chat-template.ts";
import { cutMarks } from "../../../../lib/text/tokenizers/spelt-marks.ts";
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";

const others: ReadonlySet<string> = new Set(["user", "tool"]);

/**
 * Takes the meaning from marks in what users and tools say. The application's own words, system messages and earlier replies, keep
 * theirs.
 *
 * @param messages - whose contents are texts
 * @param tokenizer - whose special tokens are the marks
 * @returns messages to render
 */
export function withoutOthersMarks(
  messages: readonly Message[],
  { specialTokens }: Pick<Tokenizer, "specialTokens">,
): readonly Message[] {
  return messages.map((message) =>
    others.has(message.role) && typeof message.content === "string"
      ? { ...message, content: cutMarks(message.content, specialTokens) }
      : message,
  );
}
