import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { openLearners } from "../../../lib/train/open-learners.ts";
import { withFolder } from "../run/kill.ts";
import { filled, maxDifference, tinyModel, tinySequence, tinyShape } from "../tiny.ts";

const options = { beta1: 0.8, beta2: 0.9, epsilon: 1e-6, weightDecay: 0.1, maxGradNorm: 0.5 };

function weighted(seed: number) {
  const sequence = tinySequence(seed, 24);
  return { ...sequence, weights: filled(sequence.rows.length, () => 1 / sequence.rows.length) };
}

/** The update of arXiv 1711.05101, algorithm 2, in float64. */
function reference(start: Float32Array, decay: number) {
  const value = Float64Array.from(start);
  const [first, second] = [new Float64Array(value.length), new Float64Array(value.length)];
  let step = 0;
  return (gradient: Float64Array, rate: number): Float64Array => {
    step += 1;
    for (const [i, g] of gradient.entries()) {
      first[i] = options.beta1 * first[i]! + (1 - options.beta1) * g;
      second[i] = options.beta2 * second[i]! + (1 - options.beta2) * g * g;
      const m = first[i]! / (1 - options.beta1 ** step);
      const v = second[i]! / (1 - options.beta2 ** step);
      value[i]! -= rate * (m / (Math.sqrt(v) + options.epsilon) + decay * value[i]!);
    }
    return value;
  };
}

test("AdamW with clipping equals its formula in float64; norms and biases are not decayed", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model, options);
  const decays = { "model.layers.0.mlp.up_proj.weight": 0.1, "model.norm.weight": 0 };
  const updates = new Map<string, ReturnType<typeof reference>>();
  for (const [name, decay] of Object.entries(decays)) {
    updates.set(name, reference(await model.parameter(name), decay));
  }
  for (const [step, rate] of [1e-2, 3e-3, 2e-2].entries()) {
    await trainer.accumulate([weighted(step)]);
    const gradients = new Map<string, Float32Array>();
    for (const name of updates.keys()) gradients.set(name, await trainer.gradient(name));
    const { gradNorm } = await trainer.step({ learningRate: rate });
    assert.ok(gradNorm > options.maxGradNorm, "the clip is tested");
    for (const [name, update] of updates) {
      const clipped = Float64Array.from(gradients.get(name)!, (g) => (g * options.maxGradNorm) / gradNorm);
      const expected = Float32Array.from(update(clipped, rate));
      assert.ok(maxDifference(await model.parameter(name), expected) < 2e-6, name);
    }
  }
});

test("the gradient norm is that of all parameters together", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  await trainer.accumulate([weighted(1)]);
  let squares = 0;
  for (const { name } of model.handle.tensors()) {
    for (const value of await trainer.gradient(name)) squares += value * value;
  }
  const { gradNorm } = await trainer.step({ learningRate: 0 });
  assert.ok(Math.abs(gradNorm - Math.sqrt(squares)) < 1e-5 * gradNorm);
});

test("saved and loaded, the optimiser goes on bit for bit", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "trainer.safetensors");
    await using model = await tinyModel();
    await using trainer = await Trainer.open(model, options);
    const train = async (learner: Trainer, from: number, to: number) => {
      for (let step = from; step < to; step += 1) {
        await learner.accumulate([weighted(step)]);
        await learner.step({ learningRate: 1e-2 });
      }
    };
    await train(trainer, 0, 3);
    await trainer.saveState(path);
    await model.save(folder);
    await using copy = await Model.load(folder);
    await using resumed = await Trainer.open(copy, options);
    await resumed.loadState(path, trainer.numSteps);
    await train(trainer, 3, 6);
    await train(resumed, 3, 6);
    for (const { name } of model.handle.tensors()) {
      assert.deepEqual(await copy.parameter(name), await model.parameter(name), name);
    }
  });
});

test("bfloat16 weights have a float32 master, so small steps are not lost", async () => {
  await using model = await Model.create(tinyShape, { seed: 1, std: 0.2, dtype: "bfloat16" });
  await using trainer = await Trainer.open(model, { weightDecay: 0 });
  const name = "model.layers.0.mlp.up_proj.weight";
  const before = await model.parameter(name);
  for (let step = 0; step < 40; step += 1) {
    await trainer.accumulate([weighted(1)]);
    // A step of 1e-5 is far below bfloat16's resolution at 0.2.
    await trainer.step({ learningRate: 1e-5 });
  }
  assert.ok(maxDifference(before, await model.parameter(name)) > 1e-4);
});

test("the learners of an algorithm are opened with the optimiser's settings", async () => {
  const first = async (maxGradNorm: number): Promise<Float32Array> => {
    await using model = await tinyModel();
    await using opened = await openLearners(model, algorithms.rloo, { ...options, maxGradNorm, beta2: 0.5 });
    const { trainer } = opened.learners;
    const start = await model.parameter("model.norm.weight");
    for (const [seed, scale] of [
      [1, 1],
      [2, 50],
    ] as const) {
      const sequence = weighted(seed);
      await trainer.accumulate([{ ...sequence, weights: sequence.weights.map((weight) => weight * scale) }]);
      await trainer.step({ learningRate: 1e-3 });
    }
    const end = await model.parameter("model.norm.weight");
    return end.map((value, i) => value - start[i]!);
  };
  // Bounded alike, both steps count the same; unbounded, the second drowns the first.
  assert.ok(maxDifference(await first(1e-3), await first(0)) > 1e-5);
});
