/** A step's trajectories as lines of `trajectories.jsonl`: what people read, and what each token was worth. */
import { type PackedNumbers, packFloats, packIds } from "../data/logs/packed-numbers.ts";
import type { Segment } from "../rollout/trajectory.ts";
import { layOut } from "./batch/layout.ts";
import type { TrainSequence } from "./batch/packing.ts";
import { isTrainedKind, type LossOn } from "./batch/sequence.ts";
import type { Experience } from "./experience.ts";
import { isRight } from "./rl-metrics.ts";
import type { RewardedRollout, SampledRollout } from "./step-rollouts.ts";

/** What the trainer knows of the tokens of one trajectory, one entry a row. */
interface LearntTokens extends Pick<TrainSequence, "advantages" | "rolloutLogprobs"> {
  /** By the trainer before the update, as the entropies are. */
  readonly logprobs?: Float32Array | undefined;
  readonly entropies?: Float32Array | undefined;
}

/** What an update was made of, by rollout. */
export type LearntRollouts = ReadonlyMap<SampledRollout, LearntTokens>;

/** What is written besides texts. */
interface RowOptions {
  /** The version of the weights before the first optimiser step, which the log counts from. */
  readonly firstVersion: number;
  /** Those that were learnt from. */
  readonly learnt: LearntRollouts;
  /** Whose tokens are rows. @default the policy's */
  readonly lossOn?: LossOn | undefined;
  /** Whether tokens are written one by one. @default true */
  readonly tokens?: boolean | undefined;
}

/** The trajectories that an experience was made of, in order, and what it holds of them. */
export function learntRollouts(
  rewarded: readonly RewardedRollout[],
  { sequences, scores }: Pick<Experience, "sequences" | "scores">,
): LearntRollouts {
  const tokensOf = (i: number): LearntTokens => ({
    ...sequences[i],
    ...{ logprobs: scores?.logprobs[i], entropies: scores?.entropies[i] },
  });
  return new Map(rewarded.map((each, i) => [each, tokensOf(i)]));
}

/**
 * One line of the log for each trajectory. Segments come last, so that a reader need not look at them to find a row.
 *
 * @param step - from 1
 * @param sampled - with or without a reward
 * @param options - what is known of their tokens, and whether it is written
 */
export function trajectoryRows(
  step: number,
  sampled: readonly SampledRollout[],
  options: RowOptions,
): object[] {
  return sampled.map((rollout) => {
    const { trajectory, question, reward, failure, group } = rollout;
    const learnt = options.learnt.get(rollout);
    const { advantages = noNumbers } = learnt ?? {};
    return {
      step,
      id: trajectory.id,
      group,
      question: question.question,
      answers: question.answers,
      answer: trajectory.answer ?? null,
      reward: reward ?? null,
      rewardFailure: failure,
      em: isRight(rollout),
      isTrained: advantages.length > 0,
      advantage: advantages.length > 0 ? meanOf(advantages) : undefined,
      stop: trajectory.stop,
      turns: trajectory.turns,
      rounds: trajectory.rounds,
      generatedTokens: policyTokens(trajectory.segments),
      queries: trajectory.queries,
      found: trajectory.found,
      failures: trajectory.failureReasons ?? [],
      weightsVersion: trajectory.weightsVersion - options.firstVersion,
      worker: trajectory.worker,
      memory: trajectory.memory,
      segments: segmentRows(trajectory.segments, learnt, options),
    };
  });
}

const noNumbers = new Float32Array();

function meanOf(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function policyTokens(segments: readonly Segment[]): number {
  return segments.reduce((sum, { kind, tokens }) => sum + (kind === "policy" ? tokens.length : 0), 0);
}

function segmentRows(
  segments: readonly Segment[],
  learnt: LearntTokens | undefined,
  { firstVersion, lossOn = "policy", tokens: hasTokens = true }: RowOptions,
): object[] {
  const known = hasTokens && learnt !== undefined ? bySegment(segments, learnt, lossOn) : [];
  return segments.map(({ kind, text, tokens, logprobs, versionRuns, visible }, i) => {
    const runs = versionRuns?.map(({ weightsVersion, numTokens }) => [
      weightsVersion - firstVersion,
      numTokens,
    ]);
    const row = { kind, text, tokens: tokens.length, versionRuns: runs, visible };
    if (!hasTokens) return row;
    return { ...row, ids: packIds(tokens), logprobs: logprobs && packFloats(logprobs), ...known[i] };
  });
}

/** What a segment's line says of its tokens beside ids and log-probabilities; NaN for one that is no row. */
interface SegmentColumns {
  readonly gaps?: PackedNumbers;
  readonly entropies?: PackedNumbers;
  readonly advantages?: PackedNumbers;
}

/** The rows of a trajectory given back to the segments that their tokens stand in. */
function bySegment(
  segments: readonly Segment[],
  { advantages, entropies, logprobs, rolloutLogprobs }: LearntTokens,
  lossOn: LossOn,
): SegmentColumns[] {
  const { segments: segment_R, places } = layOut(segments, ({ kind }) => isTrainedKind(kind, lossOn));
  const trained = new Set(segment_R);
  const gaps = rolloutLogprobs && logprobs?.map((ours, row) => ours - (rolloutLogprobs[row] ?? Number.NaN));
  const columns = segments.map(({ tokens: { length } }, i) => {
    const column = (values: Float32Array | undefined): Float32Array | undefined =>
      values && trained.has(i) ? new Float32Array(length).fill(Number.NaN) : undefined;
    return { gaps: column(gaps), entropies: column(entropies), advantages: column(advantages) };
  });
  for (const [row, segment] of segment_R.entries()) {
    const own = columns[segment]!;
    const place = places[row]!;
    if (own.gaps) own.gaps[place] = gaps![row]!;
    if (own.entropies) own.entropies[place] = entropies![row]!;
    if (own.advantages) own.advantages[place] = advantages![row]!;
  }
  return columns.map(({ gaps, entropies, advantages }) => ({
    ...{ gaps: gaps && packFloats(gaps), entropies: entropies && packFloats(entropies) },
    advantages: advantages && packFloats(advantages),
  }));
}
