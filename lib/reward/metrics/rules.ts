/** The rules by which each system scores an answer against the accepted ones. */

import { checkArgument } from "../../base/check-options.ts";
import { answerWords, spacedWords } from "../../text/words/normalize.ts";
import { overlapOf, patternCoverage, patternMatch } from "./metrics.ts";
import { checkFaithful, type FaithfulOption, plainScore } from "./plain-score.ts";

/** All scores of one answer, each 0 to 1 and each the best over the accepted answers. */
export interface AnswerScores {
  readonly em: number;
  readonly f1: number;
  /** What the system calls accuracy: an accepted answer inside of the answer; R1-Searcher's is `coverEm1`. */
  readonly acc: number;
  readonly precision: number;
  readonly recall: number;
  /** Whether the answer has every word of an accepted one, in any order. */
  readonly coverEm1: number;
  /** Whether an accepted answer stands inside of the answer, both normalised. */
  readonly coverEm2: number;
}

interface Rules {
  readonly words: (text: string) => readonly string[];
  /** Whether `yes`, `no` and `noanswer` overlap with themselves only. */
  readonly closed: boolean;
  readonly acc: "coverEm1" | "coverEm2";
  /** Accepted answers that are blank are none; faithful: all without a word. @default false */
  readonly emptyMatches?: boolean;
  /** Accepted answers are regular expressions to exact match and accuracy. @default false */
  readonly patterns?: boolean;
}

// Its test compares the text as it stands, before anything is trimmed.
function mapBoolean(text: string): string {
  if (text === "True") return "yes";
  return text === "False" ? "no" : text;
}

/**
 * The metric rules by system.
 *
 * - `squad` the official script of SQuAD 1.1
 * - `squad2` that of SQuAD 2.0: an accepted answer that normalises to nothing is none
 * - `flashrag` FlashRAG's evaluator: `yes` and `no` overlap with themselves only
 * - `curatedtrec` FlashRAG's for CuratedTREC, whose accepted answers are regular expressions: exact match and accuracy
 *   are a match with the whole answer and with a part of it
 * - `search-r1` its training reward's normaliser, which is SQuAD's
 * - `rag-r1` its evaluation script: punctuation parts words, unlike in its training reward
 * - `r1-searcher` its rule metrics: as `rag-r1`, `True` and `False` are `yes` and `no`, accuracy is by words
 */
export const answerRules = {
  squad: { words: answerWords, closed: false, acc: "coverEm2" },
  squad2: { words: answerWords, closed: false, acc: "coverEm2", emptyMatches: true },
  flashrag: { words: answerWords, closed: true, acc: "coverEm2" },
  curatedtrec: { words: answerWords, closed: true, acc: "coverEm2", patterns: true },
  "search-r1": { words: answerWords, closed: false, acc: "coverEm2" },
  "rag-r1": { words: spacedWords, closed: false, acc: "coverEm2" },
  "r1-searcher": { words: (text) => spacedWords(mapBoolean(text)), closed: true, acc: "coverEm1" },
} as const satisfies Record<string, Rules>;

/** A system whose metric rules are known. */
export type RulesName = keyof typeof answerRules;

/** Their names. */
export const rulesNames = Object.keys(answerRules) as RulesName[];

/**
 * Every score of one answer by one system's rules, but for their quirk that an empty answer is right where the accepted one
 * is "A": an accepted answer of which normalisation leaves nothing is compared in lower case alone.
 *
 * @param answer - what was said
 * @param accepted - the accepted answers (aliases); without any, an empty answer has every score and another none
 * @param system - whose rules
 * @param options - `faithful` keeps the quirk, `@default` false
 * @returns scores from 0 to 1
 * @throws ERR_ARGUMENT for an unknown system
 * @example
 * const { em, coverEm1, coverEm2 } = scoreAnswer("Madison, James", ["James Madison"], "flashrag");
 * assert.deepEqual([em, coverEm1, coverEm2], [0, 1, 0]);
 */
export function scoreAnswer(
  answer: string,
  accepted: readonly string[],
  system: RulesName,
  options: FaithfulOption = {},
): AnswerScores {
  checkFaithful("scoreAnswer", options);
  const { faithful = false } = options;
  if (!Object.hasOwn(answerRules, system)) checkArgument("scoreAnswer: system", system, rulesNames);
  const { words, closed, acc, emptyMatches = false, patterns = false }: Rules = answerRules[system];
  const given = words(answer);
  const isGold = (gold: string): boolean => (faithful ? words(gold).length > 0 : gold.trim() !== "");
  const golds = emptyMatches ? accepted.filter(isGold) : accepted;
  if (golds.length === 0) return everyScore(Number(faithful ? given.length === 0 : answer.trim() === ""));
  const scores = golds.map((gold) => {
    const plain = faithful ? undefined : plainScore(answer, gold, words);
    return plain === undefined ? against(given, words(gold), closed) : everyScore(plain);
  });
  const best = (name: keyof (typeof scores)[number]): number => Math.max(0, ...scores.map((s) => s[name]));
  return {
    em: patterns ? patternMatch(answer, accepted) : best("em"),
    f1: best("f1"),
    acc: patterns ? patternCoverage(answer, accepted) : best(acc),
    precision: best("precision"),
    recall: best("recall"),
    coverEm1: best("coverEm1"),
    coverEm2: best("coverEm2"),
  };
}

function everyScore(score: number): AnswerScores {
  return {
    em: score,
    f1: score,
    acc: score,
    precision: score,
    recall: score,
    coverEm1: score,
    coverEm2: score,
  };
}

function against(given: readonly string[], gold: readonly string[], closed: boolean) {
  const [givenText, goldText] = [given.join(" "), gold.join(" ")];
  const has = new Set(given);
  // An accepted answer that normalises to nothing is one empty word to the originals.
  const covers = gold.length === 0 ? given.length === 0 : gold.every((word) => has.has(word));
  return {
    ...overlapOf(given, gold, { closed }),
    em: Number(givenText === goldText),
    coverEm1: Number(covers),
    coverEm2: Number(givenText.includes(goldText)),
  };
}
