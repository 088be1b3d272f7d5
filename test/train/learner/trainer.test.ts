import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Model } from "../../../lib/model/model.ts";
import { packSequences, type TrainSequence } from "../../../lib/train/batch/packing.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import type { Learner } from "../../../lib/train/learner/learner.ts";
import { type LossOptions, scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";
import { filled, maxDifference, noise, tinyModel, tinySequence, tinyShape } from "../tiny.ts";

const lengths = [17, 9, 31, 12, 24, 8];

function withEverything(seed: number, length: number): TrainSequence {
  const sequence = tinySequence(seed, length);
  const numRows = sequence.rows.length;
  return {
    ...sequence,
    weights: filled(numRows, () => 1 / 60),
    advantages: filled(numRows, (i) => noise(seed + 50, i) * 2 - 1),
    oldLogprobs: filled(numRows, (i) => -3.7 + noise(seed + 60, i) * 0.6),
    referenceLogprobs: filled(numRows, (i) => -3.7 + noise(seed + 70, i) * 0.6),
  };
}

const losses: Record<string, LossOptions> = {
  likelihood: {},
  clipped: {
    objective: "clipped",
    entropyCoef: 0.01,
    kl: { estimator: "k3", coef: 0.1 },
    temperature: 0.8,
  },
  "clipped-sequence": { objective: "clipped-sequence", clipLow: 0.01 },
};

async function gradientOf(trainer: Trainer, sequences: readonly TrainSequence[], options: object) {
  await trainer.zeroGradients();
  const stats = await trainer.accumulate(sequences, options);
  return { stats, gradient: await trainer.gradient("model.embed_tokens.weight") };
}

test("loss and gradient do not depend on micro-batches or on the order of sequences", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const sequences = lengths.map((length, i) => withEverything(i, length));
  for (const options of Object.values(losses)) {
    const whole = await gradientOf(trainer, sequences, { ...options, maxTokens: 1000 });
    for (const maxTokens of [1, 30, 45]) {
      const cut = await gradientOf(trainer, [...sequences].reverse(), { ...options, maxTokens });
      assert.ok(Math.abs(cut.stats.loss - whole.stats.loss) < 1e-6);
      assert.ok(maxDifference(cut.gradient, whole.gradient) < 1e-6);
    }
  }
});

/** Two questions with four samples each; some samples begin alike too, one is the beginning of another, two are the same. */
function samples(): TrainSequence[] {
  return Array.from({ length: 8 }, (_, i) => {
    const prompt = tinySequence(i % 2, 30).tokens;
    const shared = tinySequence(20 + (i >> 2), 9).tokens;
    const own = tinySequence(30 + (i === 7 ? 5 : i), i === 0 ? 1 : 5 + i * 3).tokens;
    const tokens = Int32Array.of(...prompt, ...shared, ...own, ...(i === 5 || i === 7 ? [3, 4] : []));
    const rows = Int32Array.from({ length: tokens.length - 30 }, (_, t) => 29 + t).filter(
      (row) => row % 7 !== 0,
    );
    const each = (seed: number, low: number): Float32Array =>
      filled(rows.length, (t) => low + noise(seed + i, t));
    return {
      tokens,
      rows,
      weights: each(100, 0.01),
      advantages: each(200, -0.5),
      oldLogprobs: each(300, -4),
      referenceLogprobs: each(400, -4),
      returns: each(500, -0.5),
      oldValues: each(600, -0.5),
    };
  });
}

for (const dtype of ["float32", "bfloat16"] as const) {
  test(`samples that share their prompt have the log-probabilities and values of each alone, bit for bit, in ${dtype}`, async () => {
    await using model = await tinyModel(1, dtype);
    await using critic = await Critic.open(model);
    await critic.accumulate(samples());
    await critic.step({ learningRate: 1e-2 });
    const scores = (sequences: readonly TrainSequence[]) =>
      scoreSequences(model, sequences, { temperature: 0.8 });
    const together = await scores(samples());
    const values = await critic.values(samples());
    for (const [i, sample] of samples().entries()) {
      const alone = await scores([sample]);
      assert.deepEqual(together.logprobs[i], alone.logprobs[0]);
      assert.deepEqual(together.entropies[i], alone.entropies[0]);
      assert.deepEqual(values[i], (await critic.values([sample]))[0]);
    }
  });
}

/** The largest difference of any gradient, in shares of the parameter's largest. */
async function gradientGap(model: Model, one: Learner, other: Learner): Promise<number> {
  let most = 0;
  for (const { name } of model.handle.tensors()) {
    const [found, expected] = [await one.gradient(name), await other.gradient(name)];
    const largest = expected.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    most = Math.max(most, maxDifference(found, expected) / largest);
  }
  return most;
}

test("samples that share their prompt have the gradients of each alone, in every loss (law 3)", async () => {
  await using model = await tinyModel();
  await using copy = await model.clone();
  await using packed = await Trainer.open(model);
  await using apart = await Trainer.open(copy);
  for (const options of Object.values(losses)) {
    await packed.zeroGradients();
    await apart.zeroGradients();
    const stats = await packed.accumulate(samples(), options);
    let loss = 0;
    for (const sample of samples()) loss += (await apart.accumulate([sample], options)).loss;
    assert.ok(Math.abs(stats.loss - loss) < 1e-5 * Math.abs(loss));
    assert.equal(
      stats.numRows,
      samples().reduce((sum, { rows }) => sum + rows.length, 0),
    );
    const gap = await gradientGap(model, packed, apart);
    assert.ok(gap < 1e-5, `${gap}`);
  }
});

test("gradients of bfloat16 weights are those of the same weights in float32, but for rounded factors", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    await using model = await Model.create(tinyShape, { seed: 1, std: 0.2, dtype: "bfloat16" });
    await model.save(folder);
    await using wide = await Model.load(folder, { dtype: "float32" });
    await using trainer = await Trainer.open(model);
    await using reference = await Trainer.open(wide);
    const sequences = lengths.map((length, i) => withEverything(i, length));
    // Twice: what is added to a gradient is added in float32.
    for (let i = 0; i < 2; i += 1)
      for (const each of [trainer, reference]) await each.accumulate(sequences, {});
    for (const { name } of model.handle.tensors()) {
      const [found, expected] = [await trainer.gradient(name), await reference.gradient(name)];
      const size = Math.hypot(...expected);
      const error = Math.hypot(...found.map((value, at) => value - expected[at]!));
      assert.ok(error < 0.02 * size, `${name}: ${error / size} of its size`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("with a dual clip a negative advantage counts at most so many times, however large the ratio", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const sequence = tinySequence(1, 20);
  const [logprobs = new Float32Array()] = await trainer.logprobs([sequence], {});
  const lossOf = async (advantage: number, clipDual?: number): Promise<number> => {
    const each = (value: number): Float32Array => filled(logprobs.length, () => value);
    const weighted = { ...sequence, weights: each(1 / logprobs.length), advantages: each(advantage) };
    // A ratio of e cubed, about 20.
    const moved = { ...weighted, oldLogprobs: logprobs.map((logprob) => logprob - 3) };
    const dual = clipDual === undefined ? {} : { clipDual };
    return (await trainer.accumulate([moved], { objective: "clipped", ...dual })).loss;
  };
  const near = (loss: number, expected: number): void =>
    assert.ok(Math.abs(loss - expected) < 1e-3, `${loss}`);
  near(await lossOf(-2), 2 * Math.exp(3));
  near(await lossOf(-2, 3), 6);
  near(await lossOf(2, 3), -2.4);
});

test("the version of the weights moves by one per step", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const version = model.weightsVersion;
  for (let step = 1; step <= 3; step += 1) {
    await trainer.accumulate([withEverything(1, 20)]);
    await trainer.step({ learningRate: 1e-3 });
    assert.equal(model.weightsVersion, version + step);
  }
  assert.equal(trainer.numSteps, 3);
});

test("a few sequences are learnt by heart", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model, { weightDecay: 0 });
  const sequences = [1, 2, 3].map((seed) => {
    const sequence = tinySequence(seed, 16);
    return { ...sequence, weights: filled(sequence.rows.length, () => 1 / (3 * sequence.rows.length)) };
  });
  let loss = Number.POSITIVE_INFINITY;
  for (let step = 0; step < 120; step += 1) {
    loss = (await trainer.accumulate(sequences)).loss;
    await trainer.step({ learningRate: 1e-2 });
  }
  assert.ok(loss < 0.02, `loss ${loss}`);
});

test("an array that the loss needs and a batch lacks is named", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const { tokens, rows } = tinySequence(1, 12);
  await assert.rejects(trainer.accumulate([{ tokens, rows }]), { code: "ERR_ARGUMENT", message: /^weights/ });
  const half: TrainSequence[] = [withEverything(1, 12), { tokens, rows }];
  assert.throws(() => packSequences(half), { code: "ERR_SHAPE", message: /weights of sequence 1/ });
  for (const rows of [[11], [12], [-1], [5, 5], [7, 3]]) {
    const wrong = { tokens, rows: Int32Array.from(rows), weights: filled(rows.length, () => 1) };
    await assert.rejects(trainer.accumulate([wrong]), { code: "ERR_RANGE", message: /^rows/ });
  }
});

test("a gradient that is not finite changes no weight", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const before = await model.parameter("model.norm.weight");
  const sequence = tinySequence(1, 12);
  await trainer.accumulate([{ ...sequence, weights: filled(sequence.rows.length, () => Number.NaN) }]);
  await assert.rejects(trainer.step({ learningRate: 1 }), { code: "ERR_RANGE" });
  assert.equal(maxDifference(before, await model.parameter("model.norm.weight")), 0);
  assert.equal(trainer.numSteps, 0);
});

test("gradients whose squares float32 does not hold change nothing, in every form of the moments", async () => {
  for (const moments of ["float32", "8-bit"] as const) {
    await using model = await tinyModel();
    await using trainer = await Trainer.open(model, { moments, maxGradNorm: 0 });
    const before = await model.parameter("model.norm.weight");
    const sequence = tinySequence(1, 12);
    const step = async (size: number) => {
      await trainer.accumulate([{ ...sequence, weights: filled(sequence.rows.length, () => size) }]);
      return await trainer.step({ learningRate: 1e-3 });
    };
    for (const size of [1e22, 1e30])
      await assert.rejects(step(size), {
        code: "ERR_RANGE",
        message: /^gradient: expected less than 9\.2.*e\+18, .*; set maxGradNorm$/,
      });
    assert.deepEqual(await model.parameter("model.norm.weight"), before);
    assert.equal(trainer.numSteps, 0);
    for (const size of [1e15, 1e-15, 1]) assert.ok(Number.isFinite((await step(size)).gradNorm));
    assert.ok((await model.parameter("model.norm.weight")).every(Number.isFinite));
  }
});

test("one trainer at a time trains a model", async () => {
  await using model = await tinyModel();
  const trainer = await Trainer.open(model);
  await assert.rejects(Trainer.open(model), { code: "ERR_STATE" });
  trainer.close();
  await using next = await Trainer.open(model);
  await next.accumulate([withEverything(1, 20)]);
  assert.ok((await next.step({ learningRate: 1e-3 })).gradNorm > 0);
});

test("a handle that is closed before it has opened lets go of the model", async () => {
  await using model = await tinyModel();
  const optimiser = {
    beta1: 0.9,
    beta2: 0.999,
    epsilon: 1e-8,
    weightDecay: 0,
    decayVectors: true,
    maxGradNorm: 1,
    moments: "float32",
    masterWeights: true,
    stateFolder: "",
    zero: 0,
    gradientShards: 0,
    reduceDtype: "float32",
  };
  for (const handle of [new (native().TrainerHandle)(), new (native().CriticHandle)()]) {
    const opened = handle.open(model.handle, undefined, optimiser);
    handle.close();
    await opened;
    assert.throws(() => handle.stateTensors(), { code: "ERR_STATE" });
  }
  await using _trainer = await Trainer.open(model);
});

test("closed trainers reject", async () => {
  await using model = await tinyModel();
  const trainer = await Trainer.open(model);
  trainer.close();
  trainer.close();
  await assert.rejects(trainer.step({ learningRate: 1 }), { code: "ERR_STATE" });
});
