/** The ids of a text that must not be long: to encode a text of megabytes takes seconds, in which nothing else runs. */

/** A text up to here is encoded as a whole, characters. */
const shortLength = 1 << 16;

/** More than most texts have, so that the beginning of a text that is too long says so. */
const charsPerToken = 8;

/** Tokens by which the beginning of a text may have more than the text itself: those at the place where it is cut. */
const cutTokens = 64;

/**
 * Encodes a text unless it has too many tokens, which its beginning tells: what that takes depends on the bound, not on the text.
 *
 * @param text - of any length
 * @param most - tokens
 * @param encode - turns a text into ids
 * @returns i32 [T], maybe more than `most`; undefined where the text is far longer
 */
export function idsWithin(
  text: string,
  most: number,
  encode: (text: string) => Int32Array,
): Int32Array | undefined {
  for (let length = Math.max(shortLength, most * charsPerToken); length < text.length; length *= 4) {
    if (encode(text.slice(0, length)).length > most + cutTokens) return undefined;
  }
  return encode(text);
}
