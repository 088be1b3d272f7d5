/** Segments of a trajectory or a demonstration as a sequence to train on. */
import { checkOptions } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { layOut, type TrainSegment } from "./layout.ts";
import type { TrainSequence } from "./packing.ts";

export type { TrainSegment } from "./layout.ts";

/** Whose tokens are rows: the policy's, or everything behind the prompt (an ablation only; see `Algorithm.lossOn`). */
export type LossOn = "policy" | "all";

/** Whether tokens of these authors are rows. */
export function isTrainedKind(kind: TrainSegment["kind"], lossOn: LossOn): boolean {
  return kind === "policy" || (lossOn === "all" && kind === "observation");
}

/**
 * The policy's tokens as rows, with the engine's log-probabilities where the trajectory has them. Observations and
 * prompt are context only (law 2); ids are taken as they are (law 1). A token that opens the sequence follows nothing
 * and is no row. Where the context was cut, each token stands in the one that was visible when it was sampled.
 *
 * @param trajectory - its segments
 * @param lossOn - whose tokens are rows, `@default` the policy's
 * @returns a sequence with `rolloutLogprobs` when every policy segment has log-probabilities, and with `weightsVersions`
 *   when each has runs of versions; never with `all`, because observations have none
 * @throws ERR_SHAPE when a segment has another number of log-probabilities, or tokens in its runs, than tokens
 */
export function policySequence(
  { segments }: { readonly segments: readonly TrainSegment[] },
  lossOn: LossOn = "policy",
): TrainSequence {
  for (const segment of segments) if (segment.kind === "policy") checkLogprobs(segment);
  const {
    segments: segments_R,
    places,
    ...sequence
  } = layOut(segments, ({ kind }) => isTrainedKind(kind, lossOn));
  if (lossOn !== "policy") return sequence;
  const versions = segments.map(versionsOf);
  const told = <T>(of: (segment: number) => ArrayLike<T> | undefined): T[] =>
    [...segments_R].flatMap((segment, row) => {
      const own = of(segment);
      return own === undefined ? [] : [own[places[row]!]!];
    });
  const logprobs = told((segment) => segments[segment]!.logprobs);
  const weightsVersions = told((segment) => versions[segment]);
  const isWhole = ({ length }: readonly number[]): boolean => length === sequence.rows.length;
  return {
    ...sequence,
    ...(isWhole(logprobs) && { rolloutLogprobs: Float32Array.from(logprobs) }),
    ...(isWhole(weightsVersions) && { weightsVersions: Int32Array.from(weightsVersions) }),
  };
}

/** Of each token, where the segment tells. @throws ERR_SHAPE when its runs have another number of tokens */
function versionsOf({ tokens, versionRuns }: TrainSegment): readonly number[] | undefined {
  const versions = versionRuns?.flatMap(({ weightsVersion, numTokens }) =>
    new Array<number>(numTokens).fill(weightsVersion),
  );
  if (versions === undefined || versions.length === tokens.length) return versions;
  throw new SeekError(
    "ERR_SHAPE",
    `versionRuns: expected runs of ${tokens.length} tokens, got ${versions.length}`,
  );
}

function checkLogprobs({ tokens, logprobs }: TrainSegment): void {
  if (logprobs === undefined || logprobs.length === tokens.length) return;
  throw new SeekError("ERR_SHAPE", `logprobs: expected ${tokens.length} numbers, got ${logprobs.length}`);
}

/**
 * A demonstration for SFT: the policy's tokens weigh 1, all others `otherWeight`. Rows of weight 0 are left out. A
 * memory stack may be demonstrated too: policy segments then say what is `visible`.
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
  segments: readonly Omit<TrainSegment, "logprobs">[],
  options: { readonly otherWeight?: number } = {},
): TrainSequence {
  const { otherWeight = 0 } = checkOptions("sftSequence", options, { otherWeight: "number" });
  const weightOf = (kind: TrainSegment["kind"]): number => (kind === "policy" ? 1 : otherWeight);
  const { segments: segments_R, places: _, ...sequence } = layOut(segments, ({ kind }) => weightOf(kind) > 0);
  return {
    ...sequence,
    weights: Float32Array.from(segments_R, (segment) => weightOf(segments[segment]!.kind)),
  };
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
