import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Model } from "../../../lib/model/model.ts";
import { packSequences, type TrainSequence } from "../../../lib/train/batch/packing.ts";
import { type LossOptions, Trainer } from "../../../lib/train/learner/trainer.ts";
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
  const last = { tokens, rows: Int32Array.of(11), weights: Float32Array.of(1) };
  await assert.rejects(trainer.accumulate([last]), { code: "ERR_RANGE", message: /^rows/ });
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
  };
  for (const handle of [new (native().TrainerHandle)(), new (native().CriticHandle)()]) {
    const opened = handle.open(model.handle, optimiser);
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
