/** Conversations whose last message goes on: their prompt ends where that message does. */
import type { Message } from "../../../../lib/text/templates/chat-template.ts";

/** Stands where the message goes on; no template writes it, and none has a reason to change it. */
const mark = "[[[goes on here]]]";

/** The messages with a mark behind the last one's text, for {@link upToMark}. */
export function withMark(messages: readonly Message[]): Message[] {
  const last = messages.at(-1);
  if (last === undefined) return [];
  // The blank tells whether the template keeps white space at the end of a message.
  return [...messages.slice(0, -1), { ...last, content: `${last.content ?? ""}${mark} ` }];
}

/**
 * The prompt as far as the mark. White space before it goes where the template would have taken it from the message.
 *
 * @param prompt - of the messages of {@link withMark}
 * @returns nothing where the template leaves the message's text out
 */
export function upToMark(prompt: string): string | undefined {
  const at = prompt.lastIndexOf(mark);
  if (at < 0) return undefined;
  const before = prompt.slice(0, at);
  return prompt.startsWith(`${mark} `, at) ? before : before.trimEnd();
}
