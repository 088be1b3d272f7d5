/** Evaluations as the studio shows them: question by question, and two side by side. */
import type { SearchRound, SegmentKind } from "./trajectories.ts";

/** A file of results. */
export interface EvaluationSummary {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly numQuestions: number;
  /** Names of its sets, in their order. */
  readonly sets: readonly string[];
  /** Share of right answers; null before the first question. */
  readonly em: number | null;
  readonly f1: number | null;
  readonly changedAt: number;
}

/** `GET /evaluations`. The latest first. */
export interface EvaluationList {
  readonly evaluations: readonly EvaluationSummary[];
}

/** A mean over questions, with the ends of its 95 % interval; null where it has no value. */
export interface Figure {
  readonly name: string;
  readonly mean: number | null;
  readonly interval: readonly [number, number] | null;
}

/** `GET /evaluations/:evaluation`. */
export interface EvaluationDetail extends EvaluationSummary {
  readonly figures: readonly Figure[];
  /** The same of each set, where there are several. */
  readonly bySet: readonly { readonly set: string; readonly figures: readonly Figure[] }[];
}

/** Which questions. All optional, in the query string. */
export interface QuestionQuery {
  readonly set?: string;
  readonly em?: 0 | 1;
  readonly text?: string;
  readonly stop?: string;
  /** @default "row" */
  readonly sort?: "row" | "em" | "f1" | "searches" | "tokens" | "seconds";
  /** @default "asc" */
  readonly order?: "asc" | "desc";
  readonly offset?: number;
  /** 1 to 500. @default 100 */
  readonly limit?: number;
}

/** `GET /evaluations/:evaluation/questions`. */
export interface QuestionPage {
  readonly total: number;
  readonly matching: number;
  readonly offset: number;
  readonly rows: readonly QuestionRow[];
}

/** One question's outcome. */
export interface QuestionRow {
  /** Its place in the file, from 0. */
  readonly row: number;
  readonly set: string;
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  readonly answer: string | null;
  readonly em: number;
  readonly f1: number;
  readonly judge: number | null;
  readonly searches: number;
  readonly generatedTokens: number;
  readonly seconds: number;
  readonly stop: string;
}

/** `GET /evaluations/:evaluation/questions/:row`. */
export interface QuestionDetail extends QuestionRow {
  readonly acc: number;
  readonly precision: number;
  readonly recall: number;
  readonly judgeReason?: string;
  readonly retrievalRecall: number | null;
  readonly retrievalPrecision: number | null;
  readonly failures: readonly string[];
  readonly segments: readonly { readonly kind: SegmentKind; readonly text: string }[];
  readonly searchRounds: readonly SearchRound[];
}

/** Two files by one measure; see `seekrl eval compare`. */
export interface MeasureDifference {
  readonly name: string;
  readonly questions: number;
  readonly first: number;
  readonly second: number;
  /** The second less the first, with its 95 % interval by the paired bootstrap. */
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly pValue: number;
}

/** `GET /comparison`. 409 when the two are not over the same questions. */
export interface EvaluationComparison {
  readonly first: EvaluationSummary;
  readonly second: EvaluationSummary;
  readonly questions: number;
  readonly differences: readonly MeasureDifference[];
  /** Questions that only one answers right, and the exact test on them. */
  readonly mcnemar: { readonly onlyFirst: number; readonly onlySecond: number; readonly pValue: number };
}

/** Which questions of a comparison. */
export interface ComparisonQuery {
  /** `differ`: EM is not the same; `first`, `second`: only that one is right. @default "all" */
  readonly show?: "all" | "differ" | "first" | "second";
  readonly text?: string;
  readonly offset?: number;
  /** 1 to 500. @default 100 */
  readonly limit?: number;
}

/** `GET /comparison/questions`. */
export interface ComparisonPage {
  readonly total: number;
  readonly matching: number;
  readonly offset: number;
  readonly rows: readonly { readonly first: QuestionRow; readonly second: QuestionRow }[];
}
