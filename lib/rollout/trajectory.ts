/** What one agent did with one question: the token segments, in order, and how it ended. */

import type { VersionRun } from "../engine/span.ts";
import type { MemoryRecord } from "./memory.ts";

/** Who wrote a segment: the caller (`prompt`), the model (`policy`), the environment (`observation`). */
export type SegmentKind = "prompt" | "policy" | "observation";

/** A run of tokens with one author. */
export interface Segment {
  readonly kind: SegmentKind;
  /** Exactly the ids the model read or sampled; never the result of decoding and encoding again. */
  readonly tokens: Int32Array;
  /** Natural log-probability of each sampled token, `[tokens.length]`; on policy segments only. */
  readonly logprobs?: Float32Array;
  /** Which weights sampled the tokens, in order; on policy segments only. */
  readonly versionRuns?: readonly VersionRun[];
  /** The tokens as text, for parsing, scoring and reading. */
  readonly text: string;
  /**
   * On policy segments of agents that forget: the segments that were the context when this one was sampled, in the
   * order in which they stood there, counted among all segments. @default all earlier ones
   */
  readonly visible?: readonly number[];
}

/**
 * Why a trajectory ended.
 *
 * - `answer` the policy gave an answer
 * - `max_turns` it did something else on its last turn than to answer
 * - `invalid` its last turn closed a tag it had not opened, or searched for nothing
 * - `eos` its last turn ended without an action
 * - `length` its last turn reached the limit of tokens without an action
 * - `context` the next observation, or any further token, exceeds the limit of the trajectory
 * - `aborted` the caller's signal fired
 */
export type StopReason = "answer" | "max_turns" | "invalid" | "eos" | "length" | "context" | "aborted";

/** Wall-clock milliseconds a trajectory spent waiting for tokens, for passages, and in all. */
export interface Timings {
  readonly generateMs: number;
  readonly searchMs: number;
  readonly totalMs: number;
}

/** A passage that a query found, without its text. */
export interface RecordedPassage {
  /** Absent of a tool's document. */
  readonly id?: string | undefined;
  readonly title: string;
  readonly score?: number | undefined;
}

/** The whole record of one rollout. */
export interface Trajectory {
  /** `<question id>#<sample>`. */
  readonly id: string;
  readonly questionId: string;
  readonly segments: readonly Segment[];
  /** Generations, each of which ended in a search, an answer or neither. */
  readonly turns: number;
  readonly stop: StopReason;
  /** The text of the last complete answer of the policy, trimmed. */
  readonly answer?: string;
  /** Searches made; a multi-query turn is one round. */
  readonly rounds: number;
  /** The queries of each round. */
  readonly queries: readonly (readonly string[])[];
  /** What each query of each round found, best first; null for a round that failed. @default the agent does not tell */
  readonly found?: readonly (readonly (readonly RecordedPassage[])[] | null)[] | undefined;
  /** Turns that held neither a search nor an answer. */
  readonly invalidActions: number;
  /** Queries beyond the most that a turn may have; they were not searched for. @default 0 */
  readonly droppedQueries?: number | undefined;
  /** Searches that failed or came too late; the policy saw a failure observation instead. */
  readonly failures: number;
  /** What each failed search said, for people. @default none failed */
  readonly failureReasons?: readonly string[];
  /** What an agent with a memory stack did. @default it has none */
  readonly memory?: MemoryRecord;
  readonly timings: Timings;
  /** Version of the weights that sampled the first policy token. */
  readonly weightsVersion: number;
  /** What sampled it, of a pool: host and port of a worker, or `local`. @default the engine */
  readonly worker?: string | undefined;
  /** How often it was begun anew elsewhere, because a worker failed. @default 0 */
  readonly moves?: number | undefined;
}

/**
 * All tokens of a trajectory, in order.
 *
 * @param trajectory - its segments, of which only the tokens are read
 * @returns ids `[T]`
 * @example
 * const ids = trajectoryTokens({ segments: [{ tokens: Int32Array.of(1) }, { tokens: Int32Array.of(2) }] });
 * assert.deepEqual([...ids], [1, 2]);
 */
export function trajectoryTokens(trajectory: {
  readonly segments: readonly Pick<Segment, "tokens">[];
}): Int32Array {
  const numTokens = trajectory.segments.reduce((total, { tokens }) => total + tokens.length, 0);
  const tokens_T = new Int32Array(numTokens);
  let position = 0;
  for (const { tokens } of trajectory.segments) {
    tokens_T.set(tokens, position);
    position += tokens.length;
  }
  return tokens_T;
}
