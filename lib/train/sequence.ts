/** Segments of a trajectory or a demonstration as a sequence to train on. */
import { SeekError } from "../base/errors.ts";
import { type Segment, trajectoryTokens } from "../rollout/trajectory.ts";
import type { TrainSequence } from "./packing.ts";

/** What training reads of a segment. */
export type TrainSegment = Pick<Segment, "kind" | "tokens" | "logprobs">;

/** Whose tokens are rows: the policy's, or everything behind the prompt (an ablation only; see `Algorithm.lossOn`). */
export type LossOn = "policy" | "all";

/**
 * The policy's tokens as rows, with the engine's log-probabilities where the trajectory has them. Observations and
 * prompt are context only (law 2); ids are taken as they are (law 1). A token that opens the sequence follows nothing
 * and is no row.
 *
 * @param trajectory - its segments
 * @param lossOn - whose tokens are rows, `@default` the policy's
 * @returns a sequence with `rolloutLogprobs` when every row has a log-probability, which observations never have
 * @throws ERR_SHAPE when a segment has another number of log-probabilities than tokens
 */
export function policySequence(
  { segments }: { readonly segments: readonly TrainSegment[] },
  lossOn: LossOn = "policy",
): TrainSequence {
  const tokens = trajectoryTokens({ segments });
  const rows: number[] = [];
  const logprobs: number[] = [];
  let position = 0;
  for (const segment of segments) {
    const isPolicy = segment.kind === "policy";
    if (isPolicy) checkLogprobs(segment);
    if (isPolicy || (lossOn === "all" && segment.kind === "observation")) {
      for (let i = position === 0 ? 1 : 0; i < segment.tokens.length; i += 1) {
        rows.push(position + i - 1);
        if (isPolicy && segment.logprobs) logprobs.push(segment.logprobs[i]!);
      }
    }
    position += segment.tokens.length;
  }
  const sequence = { tokens, rows: Int32Array.from(rows) };
  return logprobs.length === rows.length
    ? { ...sequence, rolloutLogprobs: Float32Array.from(logprobs) }
    : sequence;
}

function checkLogprobs({ tokens, logprobs }: TrainSegment): void {
  if (logprobs === undefined || logprobs.length === tokens.length) return;
  throw new SeekError("ERR_SHAPE", `logprobs: expected ${tokens.length} numbers, got ${logprobs.length}`);
}

/**
 * A demonstration for SFT: the policy's tokens weigh 1, all others `otherWeight`. Rows of weight 0 are left out.
 *
 * @param segments - prompt, policy and observation, in order
 * @param options - `otherWeight` of prompt and observation tokens, `@default` 0
 * @returns a sequence whose weights are not normalised yet
 * @example
 * const segments = [
 *   { kind: "prompt", tokens: Int32Array.of(1, 2) },
 *   { kind: "policy", tokens: Int32Array.of(3) },
 * ] as const;
 * assert.deepEqual([...sftSequence(segments).rows], [1]);
 */
export function sftSequence(
  segments: readonly Pick<TrainSegment, "kind" | "tokens">[],
  { otherWeight = 0 }: { readonly otherWeight?: number } = {},
): TrainSequence {
  const rows: number[] = [];
  const weights: number[] = [];
  let position = 0;
  for (const { kind, tokens } of segments) {
    const weight = kind === "policy" ? 1 : otherWeight;
    for (let i = position === 0 ? 1 : 0; weight > 0 && i < tokens.length; i += 1) {
      rows.push(position + i - 1);
      weights.push(weight);
    }
    position += tokens.length;
  }
  const tokens = trajectoryTokens({ segments });
  return { tokens, rows: Int32Array.from(rows), weights: Float32Array.from(weights) };
}

/**
 * Divides weights by the sum of all, so that a step's loss is a mean.
 *
 * @param sequences - all of one step
 * @returns copies with weights that add up to 1
 * @throws ERR_ARGUMENT when the sum is not positive
 */
export function normaliseWeights(sequences: readonly TrainSequence[]): TrainSequence[] {
  let total = 0;
  for (const { weights } of sequences) for (const weight of weights ?? []) total += weight;
  if (total <= 0)
    throw new SeekError("ERR_ARGUMENT", "weights: expected a positive sum over the step, got 0");
  return sequences.map((sequence) => ({
    ...sequence,
    weights: (sequence.weights ?? new Float32Array(0)).map((weight) => weight / total),
  }));
}
