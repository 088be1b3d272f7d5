/** The SQuAD answer normaliser, character for character what the usual Python code gives. */

// Python's string.punctuation: all of ASCII's; typographic quotes and dashes stay.
const punctuation = /[!-/:-@[-`{-~]/g;
// Python's \b knows the letters and digits of every script, but no combining mark.
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;
// Python's str.split(): JavaScript's \s has U+FEFF, and lacks U+001C to U+001F and U+0085.
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python takes these controls for white space
const whitespace = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

/**
 * Lower case, no ASCII punctuation, no English articles, single spaces.
 *
 * @param text - an answer
 * @returns the normalised answer, possibly empty
 * @example
 * assert.equal(normalizeAnswer("The  U.S.A."), "usa");
 */
export function normalizeAnswer(text: string): string {
  return answerWords(text).join(" ");
}

/** The words of the normalised answer. */
export function answerWords(text: string): string[] {
  const plain = text.toLowerCase().replace(punctuation, "").replace(articles, " ");
  return plain.split(whitespace).filter((word) => word !== "");
}
