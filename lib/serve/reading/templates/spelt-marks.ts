/** Marks that users and tools spell: what they say stays text, and begins no turn. */
import type { Message } from "../../../text/templates/chat-template.ts";
import type { Tokenizer } from "../../../text/tokenizers/tokenizer.ts";

/** Stands within a mark that is text until the prompt is encoded; of Unicode's private use. */
const cut = "\u{F5EF}";

/** Who may say what others wrote. */
const others: ReadonlySet<string> = new Set(["user", "tool"]);

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/**
 * Takes the meaning from marks in what users and tools say, where there are some. The application's own words, system messages and
 * earlier replies, keep theirs.
 *
 * @param messages - whose contents are texts
 * @param tokenizer - whose special tokens are the marks
 * @returns messages to render, for {@link idsOfPrompt}
 */
export function cutMarks(
  messages: readonly Message[],
  { specialTokens }: Pick<Tokenizer, "specialTokens">,
): readonly Message[] {
  const marks = [...specialTokens.keys()].filter((mark) => mark.length > 1);
  const isSaid = ({ role, content }: Message): boolean =>
    others.has(role) && marks.some((mark) => String(content).includes(mark));
  if (!messages.some(isSaid)) return messages;
  const longestFirst = marks.sort((a, b) => b.length - a.length).map(escaped);
  const pattern = new RegExp(`(?:${longestFirst.join("|")})`, "gu");
  const text = (content: unknown): string =>
    String(content).replace(pattern, (mark) => {
      const [first = "", ...rest] = mark;
      return `${first}${cut}${rest.join("")}`;
    });
  return messages.map((message) =>
    isSaid(message) ? { ...message, content: text(message.content) } : message,
  );
}

/** A prompt as it reads. */
export const textOfPrompt = (prompt: string): string => prompt.replaceAll(cut, "");

/**
 * The ids of a prompt, in which a mark that was cut is text.
 *
 * @param options - `beginsText`: whether the marks that begin a text stand in front, `@default true`
 */
export function idsOfPrompt(
  prompt: string,
  tokenizer: Tokenizer,
  { beginsText = true }: { readonly beginsText?: boolean | undefined } = {},
): Int32Array {
  const [first = "", ...rest] = prompt.split(cut);
  const ids = tokenizer.encode(first, { beginsText });
  return rest.length === 0
    ? ids
    : Int32Array.from([ids, ...rest.map((part) => tokenizer.encode(part))].flatMap((part) => [...part]));
}
