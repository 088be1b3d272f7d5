/** How text became words and terms before an index recorded it: for the folders that were built so, which stay as they are. */
import { normalized } from "../normal-form.ts";
import { porter, stopWords } from "./languages.ts";

/** Without any script's marks, those that are letters included; Hangul stays in its parts. */
function fold(text: string): string {
  return normalized(text, "NFKD")
    .replace(/[\p{M}'\u2019]/gu, "")
    .toLowerCase()
    .replaceAll("ς", "σ");
}

const unspacedRun = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+/gu;

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

/** English for every script; a stop word counts nowhere. */
export function firstMeaning(text: string): {
  readonly words: readonly string[];
  readonly terms: readonly string[];
  readonly letters: readonly string[];
  readonly stops: readonly string[];
} {
  const words: readonly string[] = fold(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  const left = stopWords("eng");
  const kept = words.flatMap(cutUnspaced).filter((word) => !left.has(word));
  return { words, terms: kept.map(porter().stemmer), letters: [], stops: [] };
}
