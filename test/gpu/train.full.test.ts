/** Training on a GPU, emulated: losses and gradients against the same weights on the CPU, AdamW's bits, law 3. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Adapter } from "../../lib/model/adapter.ts";
import type { DecoderShape } from "../../lib/model/config/config.ts";
import { Model } from "../../lib/model/model.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { Critic } from "../../lib/train/learner/critic.ts";
import { type LossOptions, scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { filled, noise } from "../train/tiny.ts";
import { gpuDevice } from "./device.ts";
import { modelOn, relativeDifference, shapes } from "./models.ts";

function sequence(seed: number, length: number): TrainSequence {
  const tokens = Int32Array.from({ length }, (_, t) => Math.floor(noise(seed, t) * 91));
  const rows = Int32Array.from({ length: length - 6 }, (_, i) => 5 + i);
  return {
    tokens,
    rows,
    weights: filled(rows.length, () => 1 / 60),
    advantages: filled(rows.length, (i) => noise(seed + 50, i) * 2 - 1),
    oldLogprobs: filled(rows.length, (i) => -4.5 + noise(seed + 60, i) * 0.6),
  };
}

const sequences = [17, 9, 70].map((length, i) => sequence(i, length));

async function gradientsOn(device: string, shape: DecoderShape, options: LossOptions) {
  await using model = await modelOn(device, shape);
  await using trainer = await Trainer.open(model);
  const { loss } = await trainer.accumulate(sequences, options);
  const gradients = new Map<string, Float32Array>();
  for (const { name } of model.handle.tensors()) gradients.set(name, await trainer.gradient(name));
  const { gradNorm } = await trainer.step({ learningRate: 1e-3 });
  const { loss: next } = await trainer.accumulate(sequences, options);
  return { loss, gradients, gradNorm, next };
}

for (const [name, shape] of Object.entries(shapes)) {
  test(`loss, gradients and a step on a GPU are those of the CPU: ${name}`, async () => {
    const options = { temperature: 0.9, entropyCoef: 0.01 };
    const gpu = await gradientsOn(gpuDevice, shape, options);
    const cpu = await gradientsOn("cpu", shape, options);
    assert.ok(Math.abs(gpu.loss / cpu.loss - 1) < 5e-3, `${gpu.loss}, ${cpu.loss}`);
    assert.ok(Math.abs(gpu.gradNorm / cpu.gradNorm - 1) < 0.02);
    for (const [tensor, expected] of cpu.gradients) {
      const difference = relativeDifference(expected, gpu.gradients.get(tensor) ?? new Float32Array(0));
      assert.ok(difference < 0.05, `${tensor}: ${difference}`);
    }
    assert.ok(gpu.next < gpu.loss && Math.abs(gpu.next / cpu.next - 1) < 0.01);
  });
}

const losses: Readonly<Record<string, LossOptions>> = {
  clipped: { objective: "clipped", entropyCoef: 0.01, kl: { estimator: "k3", coef: 0.05 } },
  "one ratio a sequence": { objective: "clipped-sequence", clipLow: 0.01, clipHigh: 0.02 },
  truncated: { objective: "clipped", correction: { by: "tis", high: 1.2 } },
  "masked weights": { objective: "cispo", correction: { by: "mis", low: 0.4, high: 3 } },
};

const figures = [
  ...(["loss", "policy", "numRows", "entropy", "kl", "approxKl"] as const),
  ...(["correctionRatio", "numCorrected"] as const),
] as const;

test("what is told of PPO's, GSPO's and corrected losses on a GPU is what the CPU tells", async () => {
  const rows = sequences.map((each, i) => ({
    ...each,
    referenceLogprobs: filled(each.rows.length, (r) => -4.5 + noise(i + 70, r) * 0.6),
    rolloutLogprobs: each.oldLogprobs!.map((old, r) => old + 2 * noise(i + 90, r) - 1),
  }));
  const told = async (device: string, options: LossOptions) => {
    await using model = await modelOn(device, shapes["biases and a tied head"]!);
    await using trainer = await Trainer.open(model);
    return await trainer.accumulate(rows, options);
  };
  for (const options of Object.values(losses)) {
    const [gpu, cpu] = [await told(gpuDevice, options), await told("cpu", options)];
    for (const key of figures)
      assert.ok(
        Math.abs(gpu[key] - cpu[key]) <= 0.01 * Math.abs(cpu[key]) + 1e-4,
        `${key}: ${gpu[key]}, ${cpu[key]}`,
      );
  }
});

test("a critic and an adapter train on a GPU as on the CPU", async () => {
  const run = async (device: string) => {
    await using model = await modelOn(device, shapes["biases and a tied head"]!);
    await using adapter = await Adapter.create(model, { rank: 4, alpha: 8, seed: 1 });
    await using trainer = await Trainer.open(adapter);
    const numbers: number[] = [];
    for (let step = 0; step < 3; step += 1) {
      numbers.push((await trainer.accumulate(sequences, {})).loss);
      numbers.push((await trainer.step({ learningRate: 1e-2 })).gradNorm);
    }
    await using trunk = await modelOn(device, shapes["norms of heads, part of each turned"]!);
    await using critic = await Critic.open(trunk);
    const values = sequences.map((each) => ({
      ...each,
      returns: filled(each.rows.length, () => 0.7),
      oldValues: filled(each.rows.length, () => 0),
    }));
    for (let step = 0; step < 3; step += 1) {
      numbers.push((await critic.accumulate(values, { clip: 0.2 })).loss);
      await critic.step({ learningRate: 1e-3 });
    }
    return numbers;
  };
  const [gpu, cpu] = [await run(gpuDevice), await run("cpu")];
  for (const [i, expected] of cpu.entries())
    assert.ok(Math.abs(gpu[i]! / expected - 1) < 0.05, `${i}: ${gpu[i]}, ${expected}`);
});

test("experts that are trained on a GPU have the bits of those that generate, though they run one after another (law 4)", async () => {
  await using model = await modelOn(gpuDevice, {
    ...shapes["four experts, each weighed"]!,
    numChosenExperts: 2,
  });
  await using trainer = await Trainer.open(model);
  const [one] = sequences;
  const { logprobs } = await scoreSequences(model, [one!]);
  const { approxKl, numRows } = await trainer.accumulate([{ ...one!, oldLogprobs: logprobs[0]! }], {
    objective: "clipped",
  });
  assert.deepEqual([approxKl, numRows], [0, one!.rows.length]);
});

test("float32 on a GPU is refused by name", async () => {
  await assert.rejects(
    Model.create(shapes["biases and a tied head"]!, { device: gpuDevice, dtype: "float32" }),
    { code: "ERR_DTYPE", message: /expected bfloat16/ },
  );
});

test("samples that share their prompt have the gradients of each alone on a GPU (law 3)", async () => {
  await using model = await modelOn(gpuDevice, shapes["biases and a tied head"]!);
  await using trainer = await Trainer.open(model);
  const prompt = sequence(9, 20).tokens;
  const forks = [30, 31].map((seed) => {
    const tokens = Int32Array.of(...prompt, ...sequence(seed, 12).tokens);
    const rows = Int32Array.from({ length: 12 }, (_, i) => 19 + i);
    return { tokens, rows, weights: filled(12, () => 1 / 24) };
  });
  const of = async (batches: TrainSequence[][]) => {
    await trainer.zeroGradients();
    for (const batch of batches) await trainer.accumulate(batch, {});
    return trainer.gradient("model.layers.0.self_attn.k_proj.weight");
  };
  const together = await of([forks]);
  const apart = await of(forks.map((each) => [each]));
  assert.ok(relativeDifference(apart, together) < 0.02);
});
