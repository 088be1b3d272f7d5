/** ROUGE (Lin 2004) as the Python package `rouge` has it, which FlashRAG scores with: sets of words, not counts. */
import { splitWhitespace } from "../../text/words/normalize.ts";
import { hasWords } from "./plain-score.ts";

/** F values, each 0 to 1. */
export interface RougeScores {
  /** Of single words. */
  readonly rouge1: number;
  /** Of pairs of neighbours. */
  readonly rouge2: number;
  /** Of the words in the longest common subsequences of sentences. */
  readonly rougeL: number;
}

/**
 * How much of an answer stands in an accepted one and the other way round; of several accepted answers the best, for each
 * value by itself. An answer without letters or digits has 0 against an accepted one with some.
 *
 * @param answer - as it was given
 * @param accepted - the accepted answers
 * @returns three F values
 * @example
 * assert.ok(rouge("the cat sat", ["the cat sat down"]).rougeL > 0.85);
 */
export function rouge(answer: string, accepted: readonly string[]): RougeScores {
  const isBlank = answer.trim() === "";
  const compared = hasWords(answer) ? accepted : accepted.filter((each) => !isBlank && !hasWords(each));
  const all = compared.map((each) => scoresOf(sentencesOf(answer), sentencesOf(each)));
  const best = (name: keyof RougeScores): number => Math.max(0, ...all.map((scores) => scores[name]));
  return { rouge1: best("rouge1"), rouge2: best("rouge2"), rougeL: best("rougeL") };
}

type Sentences = readonly (readonly string[])[];

/** What stands between full stops; of blanks alone remains an empty word, as in the original. */
function sentencesOf(text: string): Sentences {
  const parts = text.split(".").filter((part) => part !== "");
  return parts.map((part) => splitWhitespace(part)).map((words) => (words.length === 0 ? [""] : words));
}

function scoresOf(given: Sentences, accepted: Sentences): RougeScores {
  if (given.length === 0 || accepted.length === 0) return { rouge1: 0, rouge2: 0, rougeL: 0 };
  return {
    rouge1: gramScore(given.flat(), accepted.flat(), 1),
    rouge2: gramScore(given.flat(), accepted.flat(), 2),
    rougeL: sequenceScore(given, accepted),
  };
}

function gramScore(given: readonly string[], accepted: readonly string[], order: number): number {
  const [ours, theirs] = [gramsOf(given, order), gramsOf(accepted, order)];
  const shared = [...ours].filter((gram) => theirs.has(gram)).length;
  return fValue(shared, ours.size, theirs.size);
}

function gramsOf(words: readonly string[], order: number): Set<string> {
  const count = Math.max(0, words.length - order + 1);
  return new Set(Array.from({ length: count }, (_, i) => words.slice(i, i + order).join(" ")));
}

function sequenceScore(given: Sentences, accepted: Sentences): number {
  const shared = new Set(accepted.flatMap((theirs) => given.flatMap((ours) => commonWords(theirs, ours))));
  return fValue(shared.size, new Set(given.flat()).size, new Set(accepted.flat()).size);
}

// The small number is the original's, which keeps 0 / 0 away.
function fValue(shared: number, numGiven: number, numAccepted: number): number {
  const precision = numGiven === 0 ? 0 : shared / numGiven;
  const recall = numAccepted === 0 ? 0 : shared / numAccepted;
  return 2 * ((precision * recall) / (precision + recall + 1e-8));
}

/** The words of one longest common subsequence; of several the one that the original walks back to. */
function commonWords(first: readonly string[], second: readonly string[]): string[] {
  const width = second.length + 1;
  const lengths = new Uint32Array((first.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = 1; i <= first.length; i++) {
    for (let j = 1; j <= second.length; j++) {
      const isSame = first[i - 1] === second[j - 1];
      lengths[i * width + j] = isSame ? at(i - 1, j - 1) + 1 : Math.max(at(i - 1, j), at(i, j - 1));
    }
  }
  const words: string[] = [];
  let [i, j] = [first.length, second.length];
  while (i > 0 && j > 0) {
    if (first[i - 1] === second[j - 1]) {
      words.push(first[i - 1] ?? "");
      i -= 1;
      j -= 1;
    } else if (at(i - 1, j) > at(i, j - 1)) i -= 1;
    else j -= 1;
  }
  return words;
}
