/** What a sequence needs of the engine that it belongs to. */
import type { NativeEngine } from "../base/addon/engines.ts";
import { SeekError } from "../base/errors.ts";
import type { Constraints } from "./constraint/constraints.ts";
import type { SequenceEvent } from "./sequence-event.ts";

/** A sequence, as the engine sees it. */
export interface OpenSequence {
  receive(event: SequenceEvent): void;
  close(): void;
}

/** The engine, as its sequences see it. */
export interface SequenceHome {
  readonly native: NativeEngine;
  /** Longest sequence, and why. */
  readonly maxTokens: number;
  readonly isBoundByCache: boolean;
  /** Of the cache, where it is not the model's: what is generated then is marked as approximate. */
  readonly cacheDtype: "e4m3" | undefined;
  /** Where there is a tokenizer. */
  readonly constraints?: Constraints;
  readonly vocabulary: {
    readonly eosIds: readonly number[];
    readonly hasBytes: boolean;
    readonly size: number;
  };
  /** The number and the seed of the next sequence. */
  next(): { readonly id: number; readonly seed: number };
  add(id: number, sequence: OpenSequence): void;
  remove(id: number): void;
}

/**
 * Refuses what would make a sequence of `length` tokens longer than a sequence may be.
 *
 * @throws ERR_RANGE for no tokens at all or more than the model allows; ERR_MEMORY for more than the cache can hold
 */
export function checkRoom(
  { maxTokens, isBoundByCache }: SequenceHome,
  length: number,
  numMore: number,
): void {
  if (length > 0 && length + numMore <= maxTokens) return;
  if (length === 0) throw new SeekError("ERR_RANGE", "sequence: expected at least one token, got none");
  const bound = isBoundByCache ? "the cache's blocks" : "the model's longest context";
  const got = `${length} tokens and ${numMore} more`;
  const code = isBoundByCache ? "ERR_MEMORY" : "ERR_RANGE";
  throw new SeekError(code, `sequence: expected at most ${maxTokens} tokens (${bound}), got ${got}`);
}
