/** Added tokens: strings that are one token wherever they stand, found before the model sees the text. */
import type { z } from "zod";
import { lazySchema } from "../../base/on-first-use.ts";
import { maxTokenId } from "./json/vocabulary.ts";
import { classOf } from "./patterns/unicode.ts";

/** The shape of one entry of `added_tokens` in tokenizer.json. */
export const addedTokenSchema = lazySchema((z) =>
  z.looseObject({
    id: z.int().nonnegative().max(maxTokenId),
    content: z.string(),
    single_word: z.boolean().default(false),
    lstrip: z.boolean().default(false),
    rstrip: z.boolean().default(false),
    special: z.boolean().default(false),
    normalized: z.boolean().default(false),
  }),
);

/** One added token. `lstrip` and `rstrip` swallow white space beside it; `single_word` wants no word beside it. */
export type AddedToken = z.infer<ReturnType<typeof addedTokenSchema>>;

/** A stretch of text, or the added token found there. */
type Section = string | AddedToken;

const wordCharacter = new RegExp(`[${classOf("word")}]`, "u");
// JavaScript's \s and trim hold U+FEFF, which is no white space to the reference.
const spaceAtStart = /^\p{White_Space}*/u;
const space = /\p{White_Space}/u;

function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && space.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

function isInsideWord(text: string, start: number, end: number): boolean {
  const before = /.$/su.exec(text.slice(Math.max(0, start - 2), start))?.[0] ?? "";
  const after = /^./su.exec(text.slice(end, end + 2))?.[0] ?? "";
  return wordCharacter.test(before) || wordCharacter.test(after);
}

/** Finds added tokens: leftmost first, and of those that start there the longest. */
export class AddedTokenSplitter {
  readonly #tokens = new Map<string, AddedToken>();
  readonly #pattern: RegExp | undefined;

  /** `write` gives the string to look for, for tokens that are matched in normalised text. */
  constructor(tokens: readonly AddedToken[], write: (content: string) => string = (content) => content) {
    for (const token of tokens) {
      const content = write(token.content);
      if (content !== "") this.#tokens.set(content, token);
    }
    const contents = [...this.#tokens.keys()].sort((a, b) => b.length - a.length);
    const escaped = contents.map((content) => content.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    this.#pattern = contents.length === 0 ? undefined : new RegExp(escaped.join("|"), "g");
  }

  /** Cuts `text` into stretches and added tokens; no stretch is empty. */
  split(text: string): Section[] {
    if (this.#pattern === undefined) return text === "" ? [] : [text];
    const sections: Section[] = [];
    let end = 0;
    for (const match of text.matchAll(this.#pattern)) {
      const token = this.#tokens.get(match[0]) as AddedToken;
      const stop = match.index + match[0].length;
      if (match.index < end || (token.single_word && isInsideWord(text, match.index, stop))) continue;
      const between = text.slice(end, match.index);
      const kept = token.lstrip ? trimEnd(between) : between;
      if (kept !== "") sections.push(kept);
      sections.push(token);
      const numSpaces = token.rstrip ? (spaceAtStart.exec(text.slice(stop))?.[0].length ?? 0) : 0;
      end = stop + numSpaces;
    }
    if (end < text.length) sections.push(text.slice(end));
    return sections;
  }
}
