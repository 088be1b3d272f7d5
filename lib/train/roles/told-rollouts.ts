/** What ranks tell each other of rollouts: numbers to all, as training needs them, and words to the first, which writes them down. */
import type { Question } from "../../data/question.ts";
import type { Telling } from "../../rollout/ranked-questions.ts";
import type { Segment, SegmentKind, Trajectory } from "../../rollout/trajectory.ts";
import type { SampledRollout } from "../step-rollouts.ts";

/** What people read of a trajectory. */
type Words = Pick<Trajectory, "answer" | "queries" | "found" | "failureReasons" | "memory"> & {
  /** By segment. */
  readonly texts: readonly string[];
  readonly failure: string | undefined;
};

const kinds: readonly SegmentKind[] = ["prompt", "policy", "observation"];

/** Segments without their texts, one behind the other. */
interface PackedSegments {
  /** By segment: kind, tokens, whether they have log-probabilities, runs of versions or -1 for none. */
  readonly shape: Int32Array;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /** Version and tokens of each run. */
  readonly runs: Float64Array;
  /** By segment, where any says what was visible. */
  readonly visible: readonly (readonly number[] | undefined)[] | undefined;
}

/** What training and its metrics need of a rollout; its question is known by its place. */
interface Numbers {
  readonly rollout: Omit<SampledRollout, "trajectory" | "question" | "failure">;
  readonly counts: Omit<Trajectory, "segments" | keyof Words>;
  readonly segments: PackedSegments;
}

const fields = 4;

function packed(segments: readonly Segment[]): PackedSegments {
  const shape = segments.flatMap(({ kind, tokens, logprobs, versionRuns }) => [
    kinds.indexOf(kind),
    tokens.length,
    logprobs === undefined ? 0 : 1,
    versionRuns?.length ?? -1,
  ]);
  const runs = segments.flatMap(({ versionRuns = [] }) =>
    versionRuns.flatMap(({ weightsVersion, numTokens }) => [weightsVersion, numTokens]),
  );
  const isCut = segments.some(({ visible }) => visible !== undefined);
  return {
    shape: Int32Array.from(shape),
    tokens: Int32Array.from(segments.flatMap(({ tokens }) => [...tokens])),
    logprobs: Float32Array.from(segments.flatMap(({ logprobs = noNumbers }) => [...logprobs])),
    runs: Float64Array.from(runs),
    visible: isCut ? segments.map(({ visible }) => visible) : undefined,
  };
}

const noNumbers = new Float32Array();

/** Takes what follows what was taken before. */
function taking<Values extends Int32Array | Float32Array | Float64Array>(values: Values) {
  let place = 0;
  return (count: number): Values => {
    place += count;
    return values.slice(place - count, place) as Values;
  };
}

function unpacked({ shape, visible, ...values }: PackedSegments, texts: readonly string[]): Segment[] {
  const [tokens, logprobs, runs] = [taking(values.tokens), taking(values.logprobs), taking(values.runs)];
  return Array.from({ length: shape.length / fields }, (_, i): Segment => {
    const [kind = 0, count = 0, isScored, numRuns = -1] = shape.subarray(i * fields, (i + 1) * fields);
    const own = visible?.[i];
    return {
      kind: kinds[kind]!,
      tokens: tokens(count),
      ...(isScored === 1 && { logprobs: logprobs(count) }),
      ...(numRuns >= 0 && { versionRuns: runsOf(runs(2 * numRuns)) }),
      text: texts[i] ?? "",
      ...(own && { visible: own }),
    };
  });
}

function runsOf(flat: Float64Array): NonNullable<Segment["versionRuns"]> {
  return Array.from({ length: flat.length / 2 }, (_, i) => ({
    weightsVersion: flat[2 * i]!,
    numTokens: flat[2 * i + 1]!,
  }));
}

/** The two parts of a rollout. */
function split({ trajectory, question: _, failure, ...rollout }: SampledRollout): [Numbers, Words] {
  const { segments, answer, queries, found, failureReasons, memory, ...counts } = trajectory;
  const texts = segments.map(({ text }) => text);
  const words = { answer, queries, found, failureReasons, memory, texts, failure };
  return [{ rollout, counts, segments: packed(segments) }, words];
}

function joined(question: Question, { rollout, counts, segments }: Numbers, words: Words | undefined) {
  const { texts = [], failure, queries = [], ...said } = words ?? {};
  const known = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const trajectory: Trajectory = { ...counts, queries, ...known, segments: unpacked(segments, texts) };
  return { ...rollout, question, trajectory, ...(failure !== undefined && { failure }) };
}

/**
 * How rollouts of questions travel. Of those that other ranks made, a rank has all numbers; texts, queries, answers and what was found
 * reach the first rank alone.
 *
 * @param questions - by the places of the results
 */
export function rolloutTelling(questions: readonly Question[]): Telling<SampledRollout[]> {
  return {
    split: (rollouts) => {
      const parts = rollouts.map(split);
      return { all: parts.map(([numbers]) => numbers), first: parts.map(([, words]) => words) };
    },
    join: ({ all, first }, index) => {
      const [numbers, words] = [all as readonly Numbers[], first as readonly Words[] | undefined];
      return numbers.map((each, i) => joined(questions[index]!, each, words?.[i]));
    },
  };
}
