/** Scores of one answer against the accepted ones; several accepted answers count by the best. */

import { answerWords, normalizeAnswer } from "../../text/words/normalize.ts";
import { pythonPattern } from "../../text/words/python-pattern.ts";
import { checkFaithful, type FaithfulOption, hasWords, plainScore } from "./plain-score.ts";

/** How the words of an answer and of an accepted answer overlap. */
interface Overlap {
  readonly f1: number;
  readonly precision: number;
  readonly recall: number;
}

/**
 * Whether the answer equals an accepted one after normalisation. An accepted answer of which normalisation leaves nothing,
 * such as "A", is compared in lower case alone, here and in all scores below.
 *
 * @param answer - what the policy said
 * @param accepted - the accepted answers (aliases); without any, only an empty answer is right, here and in all scores below
 * @param options - `faithful` takes "A" and an empty answer for equal, as the originals do, `@default` false
 * @returns 1 or 0
 * @example
 * assert.equal(exactMatch("the Paris.", ["Paris", "Paris, France"]), 1);
 */
export function exactMatch(
  answer: string,
  accepted: readonly string[],
  options: FaithfulOption = {},
): number {
  checkFaithful("exactMatch", options);
  return best(answer, accepted, (given, gold) => Number(given.join(" ") === gold.join(" ")), options);
}

/**
 * Whether an accepted answer stands inside of the answer, both normalised (also called cover EM, sub-EM, ACC).
 *
 * @returns 1 or 0
 * @example
 * assert.equal(coverage("It is Paris, France", ["Paris"]), 1);
 */
export function coverage(answer: string, accepted: readonly string[], options: FaithfulOption = {}): number {
  checkFaithful("coverage", options);
  return best(answer, accepted, (given, gold) => Number(given.join(" ").includes(gold.join(" "))), options);
}

/**
 * The harmonic mean of word precision and recall, as in SQuAD and HotpotQA: `yes`, `no` and `noanswer` match only
 * themselves.
 *
 * @returns from 0 to 1
 * @example
 * assert.equal(f1("President James Madison", ["James Madison"]), 0.8);
 */
export function f1(answer: string, accepted: readonly string[], options: FaithfulOption = {}): number {
  checkFaithful("f1", options);
  return best(answer, accepted, (given, gold) => overlapOf(given, gold).f1, options);
}

/** The share of the answer's words that an accepted answer has, 0 to 1. */
export function precision(answer: string, accepted: readonly string[], options: FaithfulOption = {}): number {
  checkFaithful("precision", options);
  return best(answer, accepted, (given, gold) => overlapOf(given, gold).precision, options);
}

/** The share of an accepted answer's words that the answer has, 0 to 1. */
export function recall(answer: string, accepted: readonly string[], options: FaithfulOption = {}): number {
  checkFaithful("recall", options);
  return best(answer, accepted, (given, gold) => overlapOf(given, gold).recall, options);
}

/**
 * Whether the normalised answer matches an accepted regular expression as a whole, ignoring case; for data sets whose
 * accepted answers are patterns, such as CuratedTREC.
 *
 * @returns 1 or 0
 * @example
 * assert.equal(patternMatch("1969", ["19\\d\\d"]), 1);
 */
export function patternMatch(answer: string, accepted: readonly string[]): number {
  return matchesAny(answer, accepted, (pattern) => `\\A(?:${pattern})\\Z`);
}

/** Like {@link patternMatch}, for a pattern anywhere inside of the answer. */
export function patternCoverage(answer: string, accepted: readonly string[]): number {
  return matchesAny(answer, accepted, (pattern) => pattern);
}

function matchesAny(answer: string, accepted: readonly string[], frame: (pattern: string) => string): number {
  const given = normalizeAnswer(answer);
  // What a pattern such as `\d*` or a blank one matches may be nothing at all, which is no answer.
  const matches = (pattern: string): boolean =>
    hasWords(pythonPattern(frame(pattern)).exec(given)?.[0] ?? "");
  return hasWords(answer) && accepted.some(matches) ? 1 : 0;
}

const closedAnswers = new Set(["yes", "no", "noanswer"]);

function best(
  answer: string,
  accepted: readonly string[],
  compare: (given: readonly string[], gold: readonly string[]) => number,
  { faithful = false }: FaithfulOption,
): number {
  const given = answerWords(answer);
  if (accepted.length === 0) return Number(faithful ? given.length === 0 : answer.trim() === "");
  return accepted.reduce((most, gold) => {
    const plain = faithful ? undefined : plainScore(answer, gold, answerWords);
    return Math.max(most, plain ?? compare(given, answerWords(gold)));
  }, 0);
}

/**
 * How two lists of words overlap, each word as often as both have it.
 *
 * @param given - the answer's words
 * @param gold - an accepted answer's words
 * @param options - `closed`: `yes`, `no` and `noanswer` match only themselves, `@default` true
 * @returns all 0 without a shared word
 * @example
 * assert.equal(overlapOf(["new", "york"], ["york"]).precision, 0.5);
 */
export function overlapOf(
  given: readonly string[],
  gold: readonly string[],
  { closed = true }: { readonly closed?: boolean } = {},
): Overlap {
  const [givenText, goldText] = [given.join(" "), gold.join(" ")];
  const isClosed = closed && (closedAnswers.has(givenText) || closedAnswers.has(goldText));
  const shared = isClosed && givenText !== goldText ? 0 : countShared(given, gold);
  if (shared === 0) return { f1: 0, precision: 0, recall: 0 };
  const [p, r] = [shared / given.length, shared / gold.length];
  return { f1: (2 * p * r) / (p + r), precision: p, recall: r };
}

function countShared(given: readonly string[], gold: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of gold) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of given) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    left.set(word, count - 1);
    shared += 1;
  }
  return shared;
}
