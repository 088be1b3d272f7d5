/** Decoding on a GPU, emulated: the host a step behind, launches captured and replayed, batches that come and go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { gpuDevice } from "./device.ts";
import { modelOn, shapes } from "./models.ts";

const ids = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, i) => (i * 29 + salt * 13 + 3) % 91);
const plain = shapes["biases and a tied head"]!;

/** Tokens and log-probabilities of one generation by itself. */
async function alone(engine: Engine, prompt: Int32Array, options: { seed: number; maxTokens: number }) {
  await using sequence = engine.open(prompt, { seed: options.seed });
  const { ids, logprobs } = await sequence.generate({ maxTokens: options.maxTokens });
  return [...ids, ...logprobs];
}

for (const [name, shape] of Object.entries(shapes))
  test(`steps of one shape are captured once and replayed, and hold our kernels alone: ${name}`, async () => {
    // A router of four experts is no size for our products.
    if (shape.numExperts === undefined) process.env["SEEKRL_EMULATED_LAUNCHES_ALONE"] = "1";
    try {
      await using gpu = await modelOn(gpuDevice, shape);
      await using engine = await Engine.open(gpu, { blockTokens: 16 });
      await alone(engine, ids(9, 1), { seed: 1, maxTokens: 12 });
      const { numSteps, numReplays } = await engine.stats();
      // The prompt's step, and the one that runs kernels for the first time, are launched one by one.
      assert.equal(numReplays, numSteps - 2);
    } finally {
      delete process.env["SEEKRL_EMULATED_LAUNCHES_ALONE"];
    }
  });

test("steps whose draws the host edits are replayed, each after the draws before it", async () => {
  const options = { maxTokens: 12, temperature: 0, logitBias: { 3: 100, 4: 98 }, frequencyPenalty: 2 };
  const drawn = async (device: string) => {
    await using model = await modelOn(device, plain);
    await using engine = await Engine.open(model, { blockTokens: 16 });
    await using sequence = engine.open(ids(9, 1), { seed: 1 });
    const span = await sequence.generate(options);
    return { ids: [...span.ids], ...(await engine.stats()) };
  };
  const gpu = await drawn(gpuDevice);
  // By turns: a token loses 2 each time that it is drawn.
  assert.deepEqual(gpu.ids, (await drawn("cpu")).ids);
  assert.deepEqual([...new Set(gpu.ids)].sort(), [3, 4]);
  assert.equal(gpu.numReplays, gpu.numSteps - 2);
});

test("sequences join, end, are cancelled and cut while others decode, and each keeps its own numbers", async () => {
  await using gpu = await modelOn(gpuDevice, plain);
  await using engine = await Engine.open(gpu, { blockTokens: 16, maxBatchTokens: 48 });
  const lengths = [3, 14, 30, 31, 32];
  const results: Promise<number[]>[] = [];
  const cancelled = new AbortController();
  await using victim = engine.open(ids(20, 9), { seed: 9 });
  const broken = victim.generate({ maxTokens: 40, signal: cancelled.signal });
  for (const [i, length] of lengths.entries()) {
    results.push(alone(engine, ids(length, i), { seed: i, maxTokens: 4 + 5 * i }));
    // So that each finds the earlier ones decoding.
    if (i > 0) await alone(engine, ids(2, i), { seed: 50 + i, maxTokens: 2 });
    if (i === 2) cancelled.abort();
  }
  assert.equal((await broken).stop, "aborted");
  await victim.truncate(20);
  const { ids: after, logprobs } = await victim.generate({ maxTokens: 6 });
  const batched = await Promise.all(results);
  for (const [i, length] of lengths.entries())
    assert.deepEqual(batched[i], await alone(engine, ids(length, i), { seed: i, maxTokens: 4 + 5 * i }));
  assert.deepEqual([...after, ...logprobs], await alone(engine, ids(20, 9), { seed: 9, maxTokens: 6 }));
});

test("weights that change while a sequence decodes are read from the next step on", async () => {
  await using gpu = await modelOn(gpuDevice, plain);
  await using trainer = await Trainer.open(gpu);
  await using engine = await Engine.open(gpu, { blockTokens: 16 });
  await using sequence = engine.open(ids(10, 1), { seed: 3 });
  const first = sequence.generate({ maxTokens: 30 });
  await alone(engine, ids(4, 2), { seed: 1, maxTokens: 3 });
  await trainer.accumulate([
    { tokens: ids(20, 1), rows: Int32Array.of(3, 4), weights: Float32Array.of(0.5, 0.5) },
  ]);
  // Under a rate of 0 the weights are the same of another version: keys and values are made anew, and are the same.
  await trainer.step({ learningRate: 0 });
  const { ids: drawn, logprobs } = await first;
  const again = await alone(engine, ids(10, 1), { seed: 3, maxTokens: 30 });
  assert.deepEqual([...drawn, ...logprobs], again);
  await trainer.accumulate([
    { tokens: ids(20, 1), rows: Int32Array.of(3, 4), weights: Float32Array.of(0.5, 0.5) },
  ]);
  const second = sequence.generate({ maxTokens: 30 });
  await trainer.step({ learningRate: 1e-2 });
  await second;
  assert.notDeepEqual(await alone(engine, ids(10, 1), { seed: 3, maxTokens: 30 }), again);
});

test("a narrow cache, where steps wait for blocks, gives what a roomy one does", async () => {
  await using gpu = await modelOn(gpuDevice, plain);
  await using roomy = await Engine.open(gpu, { blockTokens: 16 });
  await using narrow = await Engine.open(gpu, { blockTokens: 16, numBlocks: 7 });
  const all = (engine: Engine) =>
    Promise.all([15, 16, 17].map((length, i) => alone(engine, ids(length, i), { seed: i, maxTokens: 35 })));
  assert.deepEqual(await all(narrow), await all(roomy));
  assert.ok((await narrow.stats()).numSwapped > 0);
});
