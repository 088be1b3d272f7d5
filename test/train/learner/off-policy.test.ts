/** Truncated and masked importance sampling and CISPO, against their formulas in float64. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OffPolicyCorrection } from "../../../lib/train/algorithm/off-policy-correction.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { type LossOptions, type LossStats, Trainer } from "../../../lib/train/learner/trainer.ts";
import { filled, maxDifference, noise, tinyModel, tinySequence } from "../tiny.ts";

const tensor = "model.embed_tokens.weight";
const clips = { clipLow: 0.3, clipHigh: 0.4 };
const objectives = ["clipped", "cispo"] as const;
const corrections: readonly (OffPolicyCorrection | undefined)[] = [
  undefined,
  { by: "tis" },
  { by: "tis", high: 1.1 },
  { by: "mis" },
  { by: "mis", low: 0.8, high: 1.2 },
];

/** Rows around the model's own log-probabilities: the old ones off by up to 1, the rollout's by up to 2. */
async function sequencesAround(trainer: Trainer): Promise<TrainSequence[]> {
  const plain = [17, 9, 31, 12].map((length, i) => tinySequence(i, length));
  const logprobs = await trainer.logprobs(plain);
  return plain.map((sequence, i) => {
    const own = logprobs[i]!;
    return {
      ...sequence,
      weights: filled(own.length, () => 1 / 60),
      advantages: filled(own.length, (r) => noise(i + 50, r) * 2 - 1),
      oldLogprobs: own.map((logprob, r) => logprob + 2 * noise(i + 60, r) - 1),
      rolloutLogprobs: own.map((logprob, r) => logprob + 4 * noise(i + 80, r) - 2),
    };
  });
}

type Told = Pick<LossStats, "loss" | "numRows" | "numClipped" | "correctionRatio" | "numCorrected">;

function weightOf(ratio: number, correction: OffPolicyCorrection | undefined): number {
  if (correction === undefined) return 1;
  if (correction.by === "tis") return Math.min(ratio, correction.high ?? 2);
  return ratio >= (correction.low ?? 0.5) && ratio <= (correction.high ?? 5) ? ratio : 0;
}

/** In float64: the loss and what is told of it, and the factor of each row's log-probability in the gradient of CISPO. */
function reference(
  sequences: readonly TrainSequence[],
  logprobs: readonly Float32Array[],
  { objective, correction }: LossOptions,
): Told & { readonly factors: readonly Float32Array[] } {
  const told = { loss: 0, numRows: 0, numClipped: 0, correctionRatio: 0, numCorrected: 0 };
  const factors = sequences.map(({ rows, weights, advantages, oldLogprobs, rolloutLogprobs }, i) =>
    filled(rows.length, (r) => {
      const [logprob, old, rollout] = [logprobs[i]![r]!, oldLogprobs![r]!, rolloutLogprobs![r]!];
      const [weight, advantage] = [weights![r]!, advantages![r]!];
      const ratio = Math.exp(logprob - old);
      const held = Math.max(1 - clips.clipLow, Math.min(1 + clips.clipHigh, ratio));
      const between = Math.exp(old - rollout);
      const factor = weight * advantage * held * weightOf(between, correction);
      const clipped = Math.max(-advantage * ratio, -advantage * held);
      told.loss +=
        objective === "cispo" ? -factor * logprob : weight * clipped * weightOf(between, correction);
      told.numRows += 1;
      told.numClipped +=
        objective === "cispo" ? +(held !== ratio) : +(-advantage * held > -advantage * ratio);
      if (correction === undefined) return factor;
      told.correctionRatio += between;
      told.numCorrected += +(weightOf(between, correction) !== between);
      return factor;
    }),
  );
  return { ...told, factors };
}

const nameOf = (correction: OffPolicyCorrection | undefined): string => JSON.stringify(correction ?? "none");

for (const objective of objectives) {
  test(`loss and counts of ${objective} with each correction are those of the formula in float64`, async () => {
    await using model = await tinyModel();
    await using trainer = await Trainer.open(model);
    const sequences = await sequencesAround(trainer);
    const logprobs = await trainer.logprobs(sequences);
    for (const correction of corrections) {
      const loss = { objective, correction, ...clips };
      const told = await trainer.accumulate(sequences, loss);
      const { factors: _, ...expected } = reference(sequences, logprobs, loss);
      for (const [name, value] of Object.entries(expected)) {
        const got = told[name as keyof Told];
        // Sums of a few dozen f32 of size 1.
        assert.ok(Math.abs(got - value) < 2e-5, `${nameOf(correction)} ${name}: ${got} and not ${value}`);
      }
    }
    const strict = reference(sequences, logprobs, { objective, correction: corrections.at(-1) });
    assert.ok(strict.numCorrected > 5 && strict.numCorrected < strict.numRows, `${strict.numCorrected}`);
    assert.ok(strict.numClipped > 2 && strict.numClipped < strict.numRows, `${strict.numClipped}`);
  });
}

test("CISPO's gradient is that of log-probabilities weighed by clipped ratios, which have none", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const sequences = await sequencesAround(trainer);
  const logprobs = await trainer.logprobs(sequences);
  for (const correction of corrections) {
    const loss = { objective: "cispo", correction, ...clips } as const;
    await trainer.zeroGradients();
    await trainer.accumulate(sequences, loss);
    const gradient = await trainer.gradient(tensor);
    const { factors } = reference(sequences, logprobs, loss);
    await trainer.zeroGradients();
    await trainer.accumulate(
      sequences.map(({ tokens, rows }, i) => ({ tokens, rows, weights: factors[i]! })),
    );
    const difference = maxDifference(gradient, await trainer.gradient(tensor));
    assert.ok(difference < 1e-6, `${nameOf(correction)}: ${difference}`);
  }
});

test("where rollout and trainer agree, a correction changes not a bit", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const told = await sequencesAround(trainer);
  const logprobs = await trainer.logprobs(told);
  for (const objective of [...objectives, "clipped-sequence"] as const) {
    for (const isMoved of [false, true]) {
      const sequences = told.map(({ oldLogprobs, ...each }, i) => ({
        ...each,
        ...(isMoved ? { oldLogprobs } : {}),
        rolloutLogprobs: isMoved ? oldLogprobs! : logprobs[i]!,
      }));
      const made: { loss: number; gradient: Float32Array }[] = [];
      for (const correction of [undefined, { by: "tis" }, { by: "mis" }] as const) {
        await trainer.zeroGradients();
        const { loss, numCorrected } = await trainer.accumulate(sequences, { objective, correction });
        assert.equal(numCorrected, 0);
        made.push({ loss, gradient: await trainer.gradient(tensor) });
      }
      const [plain, ...others] = made;
      for (const other of others) assert.deepEqual(other, plain);
    }
  }
});

test("a correction without the rollout's log-probabilities, of a likelihood or out of range is refused", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const [sequence] = await sequencesAround(trainer);
  const { rolloutLogprobs: _, ...silent } = sequence!;
  const refused = async (
    options: object,
    message: RegExp,
    told: TrainSequence = sequence!,
  ): Promise<void> => {
    await assert.rejects(trainer.accumulate([told], options), { message });
  };
  await refused({ objective: "clipped", correction: { by: "tis" } }, /rolloutLogprobs/, silent);
  await refused({ correction: { by: "tis" } }, /correction: expected an objective with a ratio/);
  await refused({ objective: "clipped", correction: { by: "tis", low: 0.5 } }, /correction\.low/);
  await refused({ objective: "clipped", correction: { by: "mis", low: 1.5 } }, /low/);
  await refused({ objective: "clipped", correction: { by: "mis", high: 0.5 } }, /high/);
  await refused({ objective: "clipped", correction: { high: 3 } }, /by/);
});
