/** What is kept of one question: scores, searches, tokens, times, and the conversation without token ids. */
import { defined } from "../base/defined.ts";
import { answerMeant, type Question } from "../data/question.ts";
import { type AnswerScores, type RulesName, scoreAnswer } from "../reward/metrics/rules.ts";
import type { RecordedPassage, Segment, SegmentKind, StopReason, Trajectory } from "../rollout/trajectory.ts";
import { answerWords } from "../text/words/normalize.ts";

/** One question's outcome. */
export interface QuestionResult {
  /** The name of the set it is from. */
  readonly set: string;
  /** The place in the set, from 0. */
  readonly index: number;
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  /** Of multiple choice: what a letter alone stands for. */
  readonly choices?: readonly string[];
  /** What the policy answered; null when it did not. */
  readonly answer: string | null;
  readonly em: number;
  readonly f1: number;
  /** What the rules call accuracy. */
  readonly acc: number;
  readonly precision: number;
  readonly recall: number;
  /** 1 when a judge found the answer right, else 0; null when there was no judge, or when it could not judge. */
  readonly judge: number | null;
  /** The judge's reasons. */
  readonly judgeReason?: string;
  /** Why the judge could not judge. */
  readonly judgeFailure?: string;
  /** 1 when an accepted answer stands in a passage that was found, else 0; null when the agent does not tell. */
  readonly retrievalRecall: number | null;
  /** The share of the passages found in which one stands; null when none was found, or the agent does not tell. */
  readonly retrievalPrecision: number | null;
  readonly rounds: number;
  readonly queries: readonly (readonly string[])[];
  /** What each query of each round found, without texts; null for a round that failed. */
  readonly found?: readonly (readonly (readonly RecordedPassage[])[] | null)[];
  readonly generatedTokens: number;
  /** Tokens of what the environment answered; the prompt is not counted. */
  readonly observedTokens: number;
  /** Turns without an action. */
  readonly invalidActions: number;
  readonly failures: number;
  /** What failed searches said. */
  readonly failureReasons?: readonly string[];
  readonly stop: StopReason;
  /** From the first token asked for to the last. */
  readonly seconds: number;
  /** How long the evaluation of the set had been at work when this question was finished. */
  readonly elapsedSeconds: number;
  /** The conversation, without token ids. */
  readonly segments: readonly Pick<Segment, "kind" | "text">[];
}

/** What a result is made of besides the question and the trajectory. */
interface ResultContext {
  readonly set: string;
  readonly index: number;
  readonly rules: RulesName;
  /** The texts of the passages that were found; undefined when the agent reports none. */
  readonly found: readonly string[] | undefined;
  readonly elapsedSeconds: number;
}

const noScores: AnswerScores = {
  ...{ em: 0, f1: 0, acc: 0, precision: 0, recall: 0 },
  ...{ coverEm1: 0, coverEm2: 0 },
};

/** Scores a trajectory as an answer to its question. */
export function resultOf(
  { id, question, answers, choices = [] }: Question,
  trajectory: Trajectory,
  { set, index, rules, found, elapsedSeconds }: ResultContext,
): QuestionResult {
  const { answer } = trajectory;
  const scores =
    answer === undefined ? noScores : scoreAnswer(answerMeant({ choices }, answer), answers, rules);
  const { em, f1, acc, precision, recall } = scores;
  return defined({
    ...{ set, index, id, question, answers },
    choices: choices.length === 0 ? undefined : choices,
    answer: answer ?? null,
    ...{ em, f1, acc, precision, recall },
    judge: null,
    retrievalRecall: found === undefined ? null : Number(holdsAnswer(found, answers)),
    retrievalPrecision: shareWithAnswer(found ?? [], answers),
    rounds: trajectory.rounds,
    queries: trajectory.queries,
    found: trajectory.found,
    generatedTokens: tokensOf(trajectory, "policy"),
    observedTokens: tokensOf(trajectory, "observation"),
    invalidActions: trajectory.invalidActions,
    failures: trajectory.failures,
    failureReasons: trajectory.failureReasons,
    stop: trajectory.stop,
    seconds: trajectory.timings.totalMs / 1000,
    elapsedSeconds,
    segments: trajectory.segments.map(({ kind, text }) => ({ kind, text })),
  });
}

function shareWithAnswer(found: readonly string[], answers: readonly string[]): number | null {
  const right = found.filter((text) => holdsAnswer([text], answers));
  return found.length === 0 ? null : right.length / found.length;
}

function tokensOf({ segments }: Trajectory, kind: SegmentKind): number {
  return segments.reduce((sum, each) => sum + (each.kind === kind ? each.tokens.length : 0), 0);
}

/**
 * Whether an accepted answer stands in one of some texts: its normalised words in a row, as the check of a corpus has it.
 * An answer of which normalising leaves nothing stands nowhere.
 *
 * @param texts - of passages, without titles
 * @param answers - the accepted ones
 * @example
 * assert.ok(holdsAnswer(["Born in the New York area."], ["new york"]));
 */
export function holdsAnswer(texts: readonly string[], answers: readonly string[]): boolean {
  const phrases = answers.map((answer) => answerWords(answer).join(" ")).filter((phrase) => phrase !== "");
  return texts.some((text) => {
    const words = ` ${answerWords(text).join(" ")} `;
    return phrases.some((phrase) => words.includes(` ${phrase} `));
  });
}
