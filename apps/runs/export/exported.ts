/** What exporters read: a run as plain data, whichever program wrote it. */
import type { SegmentKind } from "../../../lib/rollout/trajectory.ts";

/** A sampled token. */
export interface ExportedToken {
  readonly text: string;
  /** Natural log-probability under the policy. */
  readonly logprob: number;
}

/** A run of tokens with one author. */
export interface ExportedSegment {
  readonly kind: SegmentKind;
  readonly text: string;
  /** Of policy segments, where the log has them and the tokenizer is known; together they are the text. */
  readonly tokens?: (() => readonly ExportedToken[] | undefined) | undefined;
}

/** One attempt at a question: a trajectory of a training, or a question of an evaluation. */
export interface ExportedTrajectory {
  /** Of a training, from 1. */
  readonly step?: number | undefined;
  /** Of an evaluation: the set that the question is of. */
  readonly set?: string | undefined;
  /** As the log has it. */
  readonly id: string;
  readonly questionId: string;
  /** What tells attempts at one question apart, from 1. */
  readonly epoch: number;
  readonly question: string;
  readonly answers: readonly string[];
  readonly answer: string | null;
  readonly stop: string;
  /** By name, such as `reward` or `em`; null where one has no value. */
  readonly scores: Readonly<Record<string, number | null>>;
  /** Searches made. */
  readonly rounds: number;
  readonly queries: readonly (readonly string[])[];
  /** What failed searches said. */
  readonly failures: readonly string[];
  readonly numTokens: TokenCounts;
  readonly seconds?: number | undefined;
  readonly segments: readonly ExportedSegment[];
}

/** Tokens by who wrote them. */
export interface TokenCounts {
  /** Missing where the log does not say. */
  readonly prompt?: number | undefined;
  readonly generated: number;
  readonly observed: number;
}

/** A step's numbers by name. */
export type ExportedMetrics = Readonly<Record<string, number>>;

/** A figure over all questions, and the ends of its 95 % interval where it has one. */
export interface ExportedFigure {
  readonly name: string;
  readonly value: number;
  readonly interval?: readonly [low: number, high: number] | undefined;
}

/** A run. What may be long is read anew at each call. */
export interface ExportedRun {
  readonly name: string;
  readonly kind: "training" | "evaluation";
  /** What was trained or asked, as it was named; empty where the log does not say. */
  readonly model: string;
  /** What the run was begun with, by path: `algorithm.clip.low`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether nothing more is to come. */
  readonly hasEnded: boolean;
  /** When the last line was written. */
  readonly endedAt: Date;
  readonly metrics: () => AsyncIterable<ExportedMetrics>;
  readonly trajectories: () => AsyncIterable<ExportedTrajectory>;
  /** Those of a training's last step; all of an evaluation. */
  readonly lastTrajectories: () => AsyncIterable<ExportedTrajectory>;
  /** Of an evaluation. @default none */
  readonly figures?: readonly ExportedFigure[] | undefined;
}
