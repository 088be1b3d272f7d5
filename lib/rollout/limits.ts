/** Bounds of one trajectory: turns, tokens, documents, time. */
import { countKind, numberIn, type OptionCheck, type OptionKinds, wholeKind } from "../base/check-options.ts";

/** Bounds of one trajectory. */
export interface Limits {
  /** Generations; the last one can only answer. */
  readonly maxTurns: number;
  /** Tokens of one generation. */
  readonly maxResponseTokens: number;
  /** Tokens of the documents of one query. */
  readonly maxObservationTokens: number;
  /** Tokens of the whole trajectory, prompt included; with a memory stack, of what is visible at once. */
  readonly maxTokens: number;
  /** Documents per query. */
  readonly topK: number;
  /** A search that takes longer has failed (law 7). */
  readonly searchTimeoutMs: number;
}

/** Limits of RAG-R1: four searches and the answer. */
export const defaultLimits: Limits = {
  maxTurns: 5,
  maxResponseTokens: 500,
  maxObservationTokens: 1000,
  maxTokens: 8192,
  topK: 3,
  searchTimeoutMs: 30_000,
};

/** A limit may be infinite: then there is none. */
const boundKind: OptionCheck = (name, value) => value === Number.POSITIVE_INFINITY || wholeKind(name, value);

/** The type of each limit. */
export const limitKinds: OptionKinds<Limits> = {
  maxTurns: boundKind,
  maxResponseTokens: boundKind,
  maxObservationTokens: boundKind,
  maxTokens: boundKind,
  topK: countKind,
  // A timer of more milliseconds fires at once.
  searchTimeoutMs: numberIn({ above: 0, below: 2 ** 31 }),
};
