/** Which questions to train on: RAG-R1's selection and R1-Searcher's levels of difficulty. */
import { mixSeed } from "../../base/random.ts";
import { sampleQuestions } from "../../data/prepare.ts";
import type { Question } from "../../data/question.ts";

/** How a question fared: rollouts made, and whether the last of them was right. */
export interface Tried {
  readonly question: Question;
  readonly attempts: number;
  readonly isRight: boolean;
}

/** RAG-R1's settings (arXiv 2507.02962, section 3.2.1). */
export const ragSelection = {
  /** Of the questions that the teacher answered wrongly when the SFT data were made. */
  maxAttempts: 10,
  temperature: 1.2,
  /** Of the questions that it answered rightly then, this share stays. */
  easyShare: 0.25,
  validationShare: 0.05,
} as const;

/** What RAG-R1's rule chooses from. */
interface RagCandidates {
  /** Answered rightly when the SFT data were made. */
  readonly easy: readonly Question[];
  /** The others, tried again. */
  readonly tried: readonly Tried[];
}

/**
 * RAG-R1's rule: of the questions that were answered wrongly, those that at least one further rollout answered rightly;
 * of those that were answered rightly, a random quarter.
 *
 * @param candidates - easy questions, and the others with their attempts
 * @param options - `easyShare` of the easy ones, `@default` 0.25; `seed` of the draw, `@default` 0
 * @returns hard ones and easy ones, each in their order
 * @example
 * const question = { id: "a", question: "who?", answers: ["Ada"] };
 * const { hard } = selectForRag({ easy: [], tried: [{ question, attempts: 7, isRight: true }] });
 * assert.equal(hard.length, 1);
 */
export function selectForRag(
  { easy, tried }: RagCandidates,
  {
    easyShare = ragSelection.easyShare,
    seed = 0,
  }: { readonly easyShare?: number; readonly seed?: number } = {},
): { readonly hard: readonly Question[]; readonly easy: readonly Question[] } {
  return {
    hard: tried.filter(({ isRight }) => isRight).map(({ question }) => question),
    easy: sampleQuestions(easy, Math.round(easyShare * easy.length), mixSeed(seed, "easy", 0)),
  };
}

/** R1-Searcher's levels: rollouts that a question takes to be answered rightly. */
export type Difficulty = "easy" | "medium" | "difficult" | "unsolved";

/** R1-Searcher's bounds: fewer than 10 rollouts are easy, more than 20 difficult. */
export const r1SearcherBounds = { mediumFrom: 10, mediumTo: 20, maxAttempts: 30 } as const;

/**
 * R1-Searcher's level of a question. What no rollout answered has no level of the paper's: it is `unsolved`.
 *
 * @param tried - the number of the first right rollout, or of the last one made
 * @returns the level
 * @example
 * assert.equal(difficultyOf({ attempts: 10, isRight: true }), "medium");
 */
export function difficultyOf({ attempts, isRight }: Pick<Tried, "attempts" | "isRight">): Difficulty {
  if (!isRight) return "unsolved";
  if (attempts < r1SearcherBounds.mediumFrom) return "easy";
  return attempts <= r1SearcherBounds.mediumTo ? "medium" : "difficult";
}
