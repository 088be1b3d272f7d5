/** Activations made again: not a bit of the gradients changes, whatever the budget. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "../../../lib/model/model.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { activationBytes, numRecomputed } from "../../../lib/train/memory/activations.ts";
import { filled, tinyModel, tinySequence } from "../tiny.ts";

function weighted(seed: number) {
  const sequence = tinySequence(seed, 24);
  const numbers = () => filled(sequence.rows.length, (i) => 1 / (i + 2));
  return { ...sequence, weights: numbers(), returns: numbers(), oldValues: numbers() };
}

/** Losses and gradients of two micro-batches, then those after an update. */
async function learnt(open: (model: Model) => Promise<Trainer | Critic>, dtype: Model["dtype"]) {
  await using model = await tinyModel(1, dtype);
  await using learner = await open(model);
  const found: (number | Float32Array)[] = [];
  for (let step = 0; step < 2; step += 1) {
    const { loss } = await learner.accumulate([weighted(step), weighted(step + 5)], { maxTokens: 24 });
    found.push(loss);
    for (const { name } of model.handle.tensors()) found.push(await learner.gradient(name));
    await learner.step({ learningRate: 1e-2 });
  }
  return found;
}

test("gradients have the same bits whether layers keep their activations or make them again", async () => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    const trainer = (activationBytes: number) =>
      learnt((model) => Trainer.open(model, { activationBytes }), dtype);
    assert.deepEqual(await trainer(0), await trainer(1e12), dtype);
  }
  const critic = (activationBytes: number) =>
    learnt((model) => Critic.open(model, { activationBytes }), "float32");
  assert.deepEqual(await critic(0), await critic(1e12));
});

test("as few layers are recomputed as the budget allows", async () => {
  await using model = await tinyModel();
  const deep = { config: { ...model.config, numLayers: 12 }, dtype: model.dtype };
  const batch = { tokens: 100, rows: 30 };
  const counts = Array.from({ length: 12 }, (_, count) => {
    return numRecomputed(deep, batch, activationBytes(deep, batch, count));
  });
  assert.deepEqual(
    counts,
    counts.map((_, count) => count),
  );
  assert.equal(numRecomputed(deep, batch, 0), 11);
});
