/** How text becomes words for the embedder and terms for BM25: the same for passages and queries. */
import { stemmer } from "stemmer";
import { eng } from "stopword";

const wordPattern = /[\p{L}\p{N}]+/gu;
const stopWords = new Set(eng.map((word) => word.replaceAll("'", "")));
const maxStems = 200_000;
const stems = new Map<string, string>();

/** Lower case, without accents and apostrophes: "L'Été" and "lete" are one word. */
function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\p{M}'\u2019]/gu, "")
    .toLowerCase();
}

/** The words of a text: runs of letters and digits, folded. */
export function wordsOf(text: string): string[] {
  return fold(text).match(wordPattern) ?? [];
}

/** Most words of a corpus are among a few thousand, so stems are kept. */
function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (stems.size === maxStems) stems.clear();
  const stem = stemmer(word);
  stems.set(word, stem);
  return stem;
}

/** The terms of a text for lexical search: English stop words dropped, the others reduced to their Porter stems. */
export function termsOf(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !stopWords.has(word))
    .map(stemOf);
}
