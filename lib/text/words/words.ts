/** How text becomes words for the embedder and terms for BM25: the same for passages and queries. */
import { stemmer } from "stemmer";
import { lazyPackage, onFirstUse } from "../../base/on-first-use.ts";

const wordPattern = /[\p{L}\p{N}]+/gu;
const stopwords = lazyPackage<typeof import("stopword")>("stopword");
const stopWords = onFirstUse(() => new Set(stopwords().eng.map((word) => word.replaceAll("'", ""))));

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

// Chinese and Japanese put no spaces between words.
const unspacedRun = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu;

/** Every two neighbours of an unspaced run, and what stands between such runs as words of their own. */
function cutUnspaced(word: string): string[] {
  const terms: string[] = [];
  let end = 0;
  for (const { 0: run, index } of word.matchAll(unspacedRun)) {
    if (index > end) terms.push(word.slice(end, index));
    const letters = [...run];
    if (letters.length === 1) terms.push(run);
    for (let i = 1; i < letters.length; i += 1) terms.push(`${letters[i - 1]}${letters[i]}`);
    end = index + run.length;
  }
  return end < word.length ? [...terms, word.slice(end)] : terms;
}

/**
 * The terms of words for lexical search: English stop words dropped, the others reduced to their Porter stems; of
 * Chinese and Japanese every two neighbouring characters.
 *
 * @param words what {@link wordsOf} gave
 * @returns the terms in order
 * @example
 * assert.deepEqual(termsOf(wordsOf("the presidencies")), ["presid"]);
 * assert.deepEqual(termsOf(wordsOf("日本の首都")), ["日本", "本の", "の首", "首都"]);
 */
export function termsOf(words: readonly string[]): string[] {
  const spaced = words.flatMap((word) => (word.search(unspacedRun) < 0 ? [word] : cutUnspaced(word)));
  const left = stopWords();
  return spaced.filter((word) => !left.has(word)).map(stemmer);
}
