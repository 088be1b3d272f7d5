/** The plan of a training on a GPU, emulated: what its kernels work in, and that a training finds room in it. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { decoderConfig } from "../../lib/model/config/config.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { type TrainingSizes, trainingMemory } from "../../lib/train/memory/plan.ts";
import { filled } from "../train/tiny.ts";
import { ids, modelOn, shapes } from "./models.ts";

const shape = { ...shapes["biases and a tied head"]!, vocabSize: 2051 };

afterEach(() => {
  delete process.env["SEEKRL_EMULATED_BYTES"];
});

test("the plan of a training on a GPU counts keys and values in blocks, logits in f32 and widened weights", async () => {
  await using model = await modelOn("emulated", shape);
  const { config } = model;
  const { numKvHeads, headDim } = config;
  const sizes: TrainingSizes = { config, dtype: "bfloat16", batch: { tokens: 601, rows: 300 } };
  const [gpu, cpu] = [trainingMemory({ ...sizes, device: "emulated" }), trainingMemory(sizes)];
  // Blocks of 16 tokens of 16 bits; rows of logits of a multiple of 8.
  assert.equal(gpu.scratch, 2 * 2 * 608 * numKvHeads * headDim);
  assert.equal(gpu.head, 4 * 300 * 2056);
  assert.deepEqual([cpu.scratch, cpu.head], [0, 4 * 300 * 2051]);
  assert.equal(gpu.total - cpu.total, gpu.scratch + gpu.head - cpu.head);
  const adapter = { ...sizes, device: "emulated", weights: "nf4", adapterParameters: 1e4 } as const;
  assert.equal(trainingMemory(adapter).scratch - gpu.scratch, 2 ** 27);
});

test("logits take at most 256 MB of a GPU, and nearly so of a large vocabulary", async () => {
  await (await modelOn("emulated", shape)).close();
  const config = decoderConfig({
    ...{ vocabSize: 152_064, hiddenSize: 3584, intermediateSize: 18_944 },
    ...{ numLayers: 28, numHeads: 28, numKvHeads: 4, headDim: 128 },
  });
  const batch = { tokens: 4096, rows: 4096 };
  const { head } = trainingMemory({ config, dtype: "bfloat16", device: "emulated", batch });
  assert.ok(head <= 2 ** 28 && head > 0.99 * 2 ** 28, `${head}`);
});

test("a training finds room on a GPU that has what the plan says", async () => {
  await using model = await modelOn("emulated", shapes["biases and a tied head"]!);
  for (const activationBytes of [0, 1e12]) {
    await using trainer = await Trainer.open(model, { activationBytes });
    const [tokens, rows] = [ids(70, 1), Int32Array.from({ length: 50 }, (_, i) => 15 + i)];
    const batch = { tokens: tokens.length, rows: rows.length };
    const { config } = model;
    const plan = trainingMemory({ config, dtype: "bfloat16", device: "emulated", batch, activationBytes });
    process.env["SEEKRL_EMULATED_BYTES"] = String(plan.total - plan.process);
    await trainer.accumulate([{ tokens, rows, weights: filled(50, () => 1 / 50) }]);
    await trainer.step({ learningRate: 1e-3 });
    delete process.env["SEEKRL_EMULATED_BYTES"];
  }
});
