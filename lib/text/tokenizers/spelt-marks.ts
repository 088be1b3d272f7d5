/** Marks that people spell: what they say stays text in a prompt, and begins no turn. */

/** Stands within a mark that is text until the prompt is encoded; of Unicode's private use. */
const cut = "\u{F5EF}";

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/**
 * Takes the meaning from the marks in a text that others wrote.
 *
 * @param text - is put into a prompt
 * @param specialTokens - the marks
 * @returns the same text unless it has marks; {@link idsOfPrompt} reads it
 */
export function cutMarks(text: string, specialTokens: ReadonlyMap<string, unknown>): string {
  const found = [...specialTokens.keys()].filter((mark) => mark.length > 1 && text.includes(mark));
  if (found.length === 0) return text;
  const longestFirst = found.sort((a, b) => b.length - a.length).map(escaped);
  return text.replace(new RegExp(longestFirst.join("|"), "gu"), (mark) => {
    const [first = "", ...rest] = mark;
    return `${first}${cut}${rest.join("")}`;
  });
}

/** A prompt as it reads. */
export const textOfPrompt = (prompt: string): string => prompt.replaceAll(cut, "");

/** What encodes a prompt. */
interface PromptCodec {
  encode(text: string, options?: { readonly beginsText?: boolean }): Int32Array;
}

/**
 * The ids of a prompt, in which a mark that was cut is text.
 *
 * @param options - `beginsText`: whether the marks that begin a text stand in front, `@default true`
 */
export function idsOfPrompt(
  prompt: string,
  codec: PromptCodec,
  { beginsText = true }: { readonly beginsText?: boolean | undefined } = {},
): Int32Array {
  const [first = "", ...rest] = prompt.split(cut);
  const ids = codec.encode(first, { beginsText });
  if (rest.length === 0) return ids;
  return Int32Array.from([ids, ...rest.map((part) => codec.encode(part))].flatMap((part) => [...part]));
}
