/** Law 3: what a token weighs, and how likely it is, does not depend on what it is packed with. */
import { aggregate } from "../../../../lib/train/algorithm/algorithm.ts";
import type { TrainSequence } from "../../../../lib/train/batch/packing.ts";
import { type Conversations, conversationsOf } from "../../conversations.ts";
import { type Finding, verdict } from "../../finding.ts";
import { maxGap, scoreOf, temperatureOf } from "./logprobs.ts";

const subject = { check: "packing and splitting change no weight and no loss", law: 3 };

/** Scores all conversations in one pack, and each alone in the opposite order. */
export async function checkPacking(all: Conversations): Promise<Finding> {
  const { subject: linted } = all;
  const conversations = conversationsOf(all);
  const sequences = conversations.flatMap((each) => each.sequences).filter(({ rows }) => rows.length > 0);
  const backwards = sequences.toReversed();
  const score = scoreOf(linted);
  const temperature = temperatureOf(linted);
  const together = await score(sequences, { temperature, maxTokens: Number.MAX_SAFE_INTEGER });
  const alone = (await score(backwards, { temperature, maxTokens: 1 })).toReversed();
  const gap = largestGap(together, alone);
  const [one, other] = [weights(sequences, all), weights(backwards, all).toReversed()];
  const weightGap = largestGap(one, other);
  const [a, b] = [lossOf(together, one), lossOf(alone, other)];
  const allowed = maxGap[linted.model.dtype];
  const counted = conversations.flatMap(({ name, calls, sequences: cut }) => {
    const sampled = calls.reduce((sum, { ids }) => sum + ids.length, 0);
    const trained = cut.reduce((sum, { rows }) => sum + rows.length, 0);
    return trained === sampled ? [] : [`${name}: ${sampled} sampled tokens became ${trained} rows`];
  });
  const seen = `${sequences.length} sequences packed and alone: loss ${a.toFixed(6)} and ${b.toFixed(6)}`;
  const problems = [
    ...(gap <= allowed ? [] : [`${seen}; a log-probability moves by ${gap.toPrecision(2)}`]),
    ...(weightGap === 0 ? [] : [`${seen}; a weight moves by ${weightGap.toPrecision(2)}`]),
    ...counted,
  ];
  return verdict(subject, problems, seen);
}

function weights(sequences: readonly TrainSequence[], { subject: linted }: Conversations): Float32Array[] {
  const { aggregation = "token-mean" } = linted;
  return aggregate(sequences, aggregation).map((each) => each.weights ?? new Float32Array());
}

function largestGap(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  const gaps = a.flatMap((values, i) => {
    if (values.length !== b[i]?.length) return [Number.POSITIVE_INFINITY];
    return [...values].map((value, row) => Math.abs(value - (b[i]?.[row] ?? Number.NaN)));
  });
  return gaps.reduce((most, gap) => (gap > most || Number.isNaN(gap) ? gap : most), 0);
}

function lossOf(logprobs: readonly Float32Array[], shares: readonly Float32Array[]): number {
  let loss = 0;
  for (const [i, values] of logprobs.entries()) {
    for (const [row, value] of values.entries()) loss -= value * (shares[i]?.[row] ?? 0);
  }
  return loss;
}
