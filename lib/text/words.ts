/** How text becomes words for the embedder and terms for BM25: the same for passages and queries. */
import { stemmer } from "stemmer";
import { eng } from "stopword";

const wordPattern = /[\p{L}\p{N}]+/gu;
const stopWords = new Set(eng.map((word) => word.replaceAll("'", "")));

/** Lower case, without accents and apostrophes: "L'Été" and "lete" are one word. */
function fold(text: string): string {
  return (
    text
      .normalize("NFKD")
      .replace(/[\p{M}'\u2019]/gu, "")
      .toLowerCase()
      // The one letter whose lower case depends on what stands around it.
      .replaceAll("ς", "σ")
  );
}

/**
 * The words of a text: runs of letters and digits, folded. {@link cutTexts} gives the same for many texts.
 *
 * @param text anything
 * @returns its words in order
 * @example
 * assert.deepEqual(wordsOf("L'Été, 2nd"), ["lete", "2nd"]);
 */
export function wordsOf(text: string): string[] {
  return fold(text).match(wordPattern) ?? [];
}

/**
 * The terms of words for lexical search: English stop words dropped, the others reduced to their Porter stems.
 *
 * @param words what {@link wordsOf} gave
 * @returns the terms in order
 * @example
 * assert.deepEqual(termsOf(wordsOf("the presidencies")), ["presid"]);
 */
export function termsOf(words: readonly string[]): string[] {
  return words.filter((word) => !stopWords.has(word)).map(stemmer);
}
