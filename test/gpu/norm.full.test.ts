/** The norm of gradients on a GPU, emulated: a sum in float64 in one order, for which nothing of their size is allocated. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { numParameters } from "../../lib/train/memory/plan.ts";
import { filled } from "../train/tiny.ts";
import { gpuDevice, skipOffEmulator } from "./device.ts";
import { ids, modelOn, shapes } from "./models.ts";

const sequence: TrainSequence = {
  tokens: ids(60, 1),
  rows: Int32Array.from({ length: 50 }, (_, i) => 5 + i),
  weights: filled(50, () => 1 / 50),
};

afterEach(() => {
  delete process.env["SEEKRL_EMULATED_BYTES"];
});

for (const [name, shape] of Object.entries(shapes))
  test(`the norm is that of the gradients in float64, and has the same bits again: ${name}`, async () => {
    const norms: number[] = [];
    for (let run = 0; run < 2; run += 1) {
      await using model = await modelOn(gpuDevice, shape);
      await using trainer = await Trainer.open(model);
      await trainer.accumulate([sequence]);
      let sum = 0;
      for (const { name } of model.handle.tensors())
        for (const each of await trainer.gradient(name)) sum += each ** 2;
      const { gradNorm } = await trainer.step({ learningRate: 1e-3 });
      // Both add some 1e5 squares in 53 bits, in another order.
      assert.ok(Math.abs(gradNorm / Math.sqrt(sum) - 1) < 1e-12, `${gradNorm}, ${Math.sqrt(sum)}`);
      norms.push(gradNorm);
    }
    assert.equal(norms[1], norms[0]);
  });

test("a step takes no memory that grows with the gradients", { skip: skipOffEmulator }, async () => {
  await using model = await modelOn(gpuDevice, { ...shapes["biases and a tied head"]!, vocabSize: 4096 });
  await using trainer = await Trainer.open(model);
  await trainer.accumulate([sequence]);
  // Weights, masters, gradients and two moments, and a quarter of what a copy of the gradients in f64 takes.
  process.env["SEEKRL_EMULATED_BYTES"] = String((2 + 2 + 4 + 8 + 2) * numParameters(model.config));
  await trainer.step({ learningRate: 1e-3 });
});
