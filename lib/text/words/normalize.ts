/** How answers are normalised before they are compared, character for character what the usual Python code gives. */

// Python's string.punctuation: all of ASCII's; typographic quotes and dashes stay.
const punctuation = /[!-/:-@[-`{-~]/g;
// What RAG-R1's evaluation and R1-Searcher turn into spaces: single quotes and the acute accent as well.
const spacedPunctuation = /[!-/:-@[-`{-~\u2018\u2019\u00b4]/g;
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

/** The words of the answer as SQuAD, FlashRAG, Search-R1 and RAG-R1's training normalise it. */
export function answerWords(text: string): string[] {
  return wordsOf(text.toLowerCase().replace(punctuation, ""));
}

/**
 * The words of the answer as RAG-R1's evaluation and R1-Searcher normalise it: punctuation parts words.
 *
 * @param text - an answer
 * @returns lower-case words without articles
 * @example
 * assert.deepEqual(spacedWords("The U.S. A-ha"), ["u", "s", "ha"]);
 */
export function spacedWords(text: string): string[] {
  return wordsOf(text.toLowerCase().replace(spacedPunctuation, " "));
}

function wordsOf(text: string): string[] {
  return splitWhitespace(text.replace(articles, " "));
}

/** The pieces between white space, as Python's `str.split()` finds them. */
export function splitWhitespace(text: string): string[] {
  return text.split(whitespace).filter((word) => word !== "");
}
