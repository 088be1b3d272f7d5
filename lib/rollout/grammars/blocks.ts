/** Finds text between tags, in time linear in the text. */

/** A pair of tags. */
export interface Tags {
  readonly open: string;
  readonly close: string;
}

/** A complete pair and what stands inside. */
export interface Block {
  readonly start: number;
  /** Where the closing tag ends. */
  readonly end: number;
  /** Trimmed. */
  readonly content: string;
}

/** The tags `<name>` and `</name>`. */
export function tagsOf(name: string): Tags {
  return { open: `<${name}>`, close: `</${name}>` };
}

/**
 * The first complete block at or after a place.
 *
 * @param text - any text
 * @param tags - the pair
 * @param from - where to begin, `@default` 0
 * @returns undefined when there is none
 * @example
 * assert.equal(firstBlock("<a> x </a>", tagsOf("a"))?.content, "x");
 */
export function firstBlock(text: string, { open, close }: Tags, from = 0): Block | undefined {
  // The first opening tag decides: when nothing closes after it, nothing closes after a later one either.
  const start = text.indexOf(open, from);
  if (start < 0) return undefined;
  const contentStart = start + open.length;
  const contentEnd = text.indexOf(close, contentStart);
  if (contentEnd < 0) return undefined;
  return { start, end: contentEnd + close.length, content: text.slice(contentStart, contentEnd).trim() };
}

/** The contents of all complete blocks, in order. */
export function blocksOf(text: string, tags: Tags): string[] {
  const contents: string[] = [];
  for (let block = firstBlock(text, tags); block; block = firstBlock(text, tags, block.end)) {
    contents.push(block.content);
  }
  return contents;
}
