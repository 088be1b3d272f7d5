/** The figures of an evaluation: means over questions with bootstrap intervals. */

import type { QuestionResult } from "./question-result.ts";
import {
  type BootstrapOptions,
  type Column,
  type Interval,
  meanOf,
  percentileInterval,
  resampledMeans,
} from "./statistics/bootstrap.ts";

type Scored = Omit<QuestionResult, "segments">;

/** What each figure is of one question; null where it has none. */
const figures = {
  em: (result) => result.em,
  f1: (result) => result.f1,
  acc: (result) => result.acc,
  precision: (result) => result.precision,
  recall: (result) => result.recall,
  judge: (result) => result.judge ?? null,
  judgeAnswered: ({ answer, judge }) => (answer === null ? null : (judge ?? null)),
  retrievalRecall: (result) => result.retrievalRecall,
  retrievalPrecision: (result) => result.retrievalPrecision,
  formatAccuracy: ({ answer }) => Number(answer !== null),
  answerAccuracy: ({ answer, acc }) => (answer === null ? null : acc),
  rounds: (result) => result.rounds,
  generatedTokens: (result) => result.generatedTokens,
  observedTokens: (result) => result.observedTokens,
} as const satisfies Record<string, (result: Scored) => number | null>;

/** The name of a figure that has an interval. */
export type FigureName = keyof typeof figures;

/** The names, in the order in which they are reported. */
export const figureNames = Object.keys(figures) as FigureName[];

/** Means over questions. */
export interface Means {
  readonly em: number;
  readonly f1: number;
  /** Over all questions; what was not answered counts 0. */
  readonly acc: number;
  readonly precision: number;
  readonly recall: number;
  /** The share of right answers by the judge, of those that it judged; null without any. */
  readonly judge: number | null;
  /** The same among the answered questions: Agentic-RAG-R1's answer accuracy. */
  readonly judgeAnswered: number | null;
  /** The share of questions an accepted answer of which stands in a passage that was found; null when unknown. */
  readonly retrievalRecall: number | null;
  /** The mean share of passages found in which one stands; null when nothing was found. */
  readonly retrievalPrecision: number | null;
  /** The share of questions out of whose conversation an answer could be read. */
  readonly formatAccuracy: number;
  /** Accuracy among those; `acc` is the same over all. Null when nothing was answered. */
  readonly answerAccuracy: number | null;
  /** Searches per question; parallel queries are one round. */
  readonly rounds: number;
  readonly generatedTokens: number;
  readonly observedTokens: number;
}

/** The ends of each figure's interval; null for a figure that has no value. */
export type Intervals = Readonly<Record<FigureName, Interval | null>>;

/** One column per figure. */
function columnsOf(results: readonly Scored[]): Record<FigureName, Column> {
  const columns = figureNames.map((name) => [name, results.map((result) => figures[name](result))]);
  return Object.fromEntries(columns) as Record<FigureName, Column>;
}

/** The mean of every figure. */
export function meansOf(results: readonly Scored[]): Means {
  const columns = columnsOf(results);
  const means = figureNames.map((name) => [name, meanOf(columns[name])]);
  return Object.fromEntries(means) as unknown as Means;
}

/**
 * The bootstrap interval of every figure.
 *
 * @param results - of at least one question
 * @param options - how to resample; the same seed gives the same intervals
 */
export function intervalsOf(results: readonly Scored[], options: BootstrapOptions = {}): Intervals {
  const columns = columnsOf(results);
  const means = resampledMeans(
    figureNames.map((name) => columns[name]),
    options,
  );
  const ends = figureNames.map((name, i) => [name, percentileInterval(means[i] ?? [], options)]);
  return Object.fromEntries(ends) as Intervals;
}
