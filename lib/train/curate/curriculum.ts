/** Lets an agent try questions and chooses those to train on, by the rule of RAG-R1 or of R1-Searcher. */
import { checkOptions } from "../../base/check-options.ts";
import { mixSeed } from "../../base/random.ts";
import { sampleQuestions } from "../../data/prepare.ts";
import type { Question } from "../../data/question.ts";
import {
  type AttemptedQuestion,
  type AttemptOptions,
  type Attempts,
  attemptKinds,
  attemptQuestions,
} from "./attempts.ts";
import {
  type Difficulty,
  difficultyOf,
  r1SearcherBounds,
  ragSelection,
  selectForRag,
  type Tried,
} from "./selection.ts";

/** A question and how hard it is. */
export interface RankedQuestion extends Question {
  readonly difficulty: Difficulty | "hard";
  /** Rollouts until the right one; not known of questions that were answered when the SFT data were made. */
  readonly attempts?: number;
}

/** What was chosen, and what became of all others. */
export interface Curriculum {
  readonly questions: readonly RankedQuestion[];
  /** Of all questions, the chosen ones included. */
  readonly counts: Readonly<Record<string, number>>;
  readonly failures: Attempts["failures"];
}

/** How questions are tried; nothing but the number of rollouts is kept. */
export interface CurriculumOptions extends Omit<AttemptOptions, "write"> {
  /** @default RAG-R1's 10, R1-Searcher's 30 */
  readonly maxAttempts?: number;
}

const { write: _, ...curriculumKinds } = attemptKinds;

/** What RAG-R1's rule needs besides. */
export interface RagCurriculumOptions extends CurriculumOptions {
  /** Ids of the questions that were answered rightly when the SFT data were made. */
  readonly solved: ReadonlySet<string>;
  /** @default 0.25 */
  readonly easyShare?: number;
}

/**
 * RAG-R1's selection: questions that the SFT data's teacher answered wrongly are tried up to ten times, and stay when one
 * try is right; of the others a random quarter stays.
 *
 * @param questions - those the SFT data were made from
 * @param given - who tries (at temperature 1.2 in the paper), which were solved
 * @returns the chosen questions in their order, with `difficulty` hard or easy
 * @throws as `attemptQuestions`
 * @example
 * const isRight = (trajectory, question) => emReward(trajectory, question) === 1;
 * const { counts } = await ragCurriculum(questions, { agent, isRight, solved: new Set(["a"]), maxAttempts: 1 });
 * assert.deepEqual([counts.easy, counts.hard], [1, 0]);
 */
export async function ragCurriculum(
  questions: readonly Question[],
  given: RagCurriculumOptions,
): Promise<Curriculum> {
  const kinds = { ...curriculumKinds, solved: "object", easyShare: "number" } as const;
  checkOptions("ragCurriculum", given, kinds, ["agent", "isRight", "solved"]);
  const { solved, easyShare, maxAttempts = ragSelection.maxAttempts, ...options } = given;
  const wrong = questions.filter(({ id }) => !solved.has(id));
  const easy = questions.filter(({ id }) => solved.has(id));
  const { outcomes, failures } = await attemptQuestions(wrong, { ...options, maxAttempts });
  const tried = triedOf(wrong, outcomes);
  const chosen = selectForRag({ easy, tried }, { easyShare, seed: options.seed ?? 0 });
  const attempts = new Map(tried.map((each) => [each.question.id, each.attempts]));
  const keptIds = new Set([...chosen.hard, ...chosen.easy].map(({ id }) => id));
  return {
    questions: questions
      .filter(({ id }) => keptIds.has(id))
      .map((question) => {
        const number = attempts.get(question.id);
        if (number === undefined) return { ...question, difficulty: "easy" };
        return { ...question, difficulty: "hard", attempts: number };
      }),
    counts: {
      easy: easy.length,
      "easy, chosen": chosen.easy.length,
      hard: chosen.hard.length,
      unsolved: tried.length - chosen.hard.length,
    },
    failures,
  };
}

/**
 * R1-Searcher's selection: every question is tried until it is answered rightly, and the number of rollouts is its level.
 *
 * @param questions - all
 * @param given - who tries; `levels` to choose, `@default` medium and difficult
 * @returns the chosen questions in their order
 * @throws as `attemptQuestions`
 * @example
 * const isRight = (trajectory, question) => emReward(trajectory, question) === 1;
 * const { counts } = await r1SearcherCurriculum(questions, { agent, isRight, maxAttempts: 1 });
 * assert.equal(counts.easy + counts.unsolved, questions.length);
 */
export async function r1SearcherCurriculum(
  questions: readonly Question[],
  given: CurriculumOptions & { readonly levels?: readonly Difficulty[] },
): Promise<Curriculum> {
  checkOptions("r1SearcherCurriculum", given, { ...curriculumKinds, levels: "list" }, ["agent", "isRight"]);
  const { levels = ["medium", "difficult"], maxAttempts = r1SearcherBounds.maxAttempts, ...options } = given;
  const { outcomes, failures } = await attemptQuestions(questions, { ...options, maxAttempts });
  const ranked = triedOf(questions, outcomes).map((tried) => ({
    ...tried.question,
    difficulty: difficultyOf(tried),
    attempts: tried.attempts,
  }));
  const counts: Record<Difficulty, number> = { easy: 0, medium: 0, difficult: 0, unsolved: 0 };
  for (const { difficulty } of ranked) counts[difficulty] += 1;
  return { questions: ranked.filter(({ difficulty }) => levels.includes(difficulty)), counts, failures };
}

function triedOf(questions: readonly Question[], outcomes: readonly AttemptedQuestion[]): Tried[] {
  const byId = new Map(questions.map((question) => [question.id, question]));
  return outcomes.map(({ id, attempts, isRight }) => ({ question: byId.get(id)!, attempts, isRight }));
}

/**
 * Parts questions for training and validation at random.
 *
 * @param questions - all
 * @param options - `share` that validates, `@default` RAG-R1's 0.05; `seed`, `@default` 0
 */
export function splitQuestions<Item extends Question>(
  questions: readonly Item[],
  {
    share = ragSelection.validationShare,
    seed = 0,
  }: { readonly share?: number; readonly seed?: number } = {},
): { readonly train: Item[]; readonly validation: Item[] } {
  const count = Math.round(share * questions.length);
  const held = new Set(sampleQuestions(questions, count, mixSeed(seed, "validation", 0)).map(({ id }) => id));
  return {
    train: questions.filter(({ id }) => !held.has(id)),
    validation: questions.filter(({ id }) => held.has(id)),
  };
}
