/** BLEU over a corpus of answers (Papineni et al. 2002), with the 13a tokeniser of mteval. */
import { splitWhitespace } from "../../text/words/normalize.ts";
import { hasWords } from "./plain-score.ts";

/**
 * Cuts a text into the tokens of mteval's version 13a: ASCII punctuation stands alone, except that full stops and
 * commas stay inside of numbers, and hyphens and apostrophes inside of words.
 *
 * @param text - any text
 * @returns its tokens
 * @example
 * assert.deepEqual(bleuTokens("It's 3.14, ok."), ["It's", "3.14", ",", "ok", "."]);
 */
export function bleuTokens(text: string): string[] {
  const plain = text
    .replaceAll("<skipped>", "")
    .replaceAll("-\n", "")
    .replaceAll("\n", " ")
    // One after the other, as the original does: "&amp;lt;" becomes "<".
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">");
  const spaced = ` ${plain} `
    .replace(/[{-~[-` -&(-+:-@/]/g, " $& ")
    .replace(/([^0-9])([.,])/gu, "$1 $2 ")
    .replace(/([.,])([^0-9])/gu, " $1 $2")
    .replace(/([0-9])(-)/g, "$1 $2 ");
  return splitWhitespace(spaced);
}

/** An answer and the answers it is compared with. */
interface BleuPair {
  readonly answer: string;
  readonly accepted: readonly string[];
}

/**
 * BLEU-4 of a whole corpus, without smoothing: 0 as soon as one order of n-grams has no match. Of an answer without letters
 * or digits nothing matches where an accepted one has some.
 *
 * @param pairs - answers with their accepted answers, at least one each
 * @returns 0 to 1
 * @example
 * assert.equal(bleu([{ answer: "the cat sat down", accepted: ["the cat sat down"] }]), 1);
 */
export function bleu(pairs: readonly BleuPair[]): number {
  const matches = new Array<number>(4).fill(0);
  const possible = new Array<number>(4).fill(0);
  let [givenLength, acceptedLength] = [0, 0];
  for (const { answer, accepted } of pairs) {
    const given = bleuTokens(answer);
    const references = accepted.map(bleuTokens);
    const isSaid = hasWords(answer) || !accepted.some(hasWords);
    givenLength += given.length;
    acceptedLength += Math.min(...references.map(({ length }) => length));
    for (let order = 1; order <= 4; order += 1) {
      if (isSaid) matches[order - 1]! += countMatches(given, references, order);
      possible[order - 1]! += Math.max(0, given.length - order + 1);
    }
  }
  const logs = matches.map((count, i) => Math.log(count / Math.max(1, possible[i]!)));
  const mean = logs.reduce((sum, log) => sum + log, 0) / 4;
  if (givenLength === 0) return 0;
  return Math.exp(mean + Math.min(0, 1 - acceptedLength / givenLength));
}

function countMatches(given: readonly string[], references: readonly string[][], order: number): number {
  const limits = references.map((reference) => countGrams(reference, order));
  let matches = 0;
  for (const [gram, count] of countGrams(given, order)) {
    matches += Math.min(count, Math.max(...limits.map((limit) => limit.get(gram) ?? 0)));
  }
  return matches;
}

function countGrams(tokens: readonly string[], order: number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i + order <= tokens.length; i += 1) {
    const gram = tokens.slice(i, i + order).join(" ");
    counts.set(gram, (counts.get(gram) ?? 0) + 1);
  }
  return counts;
}
