/** Operations and bytes of models against their published sizes and by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { gpuOf } from "../../apps/plan/machine.ts";
import { computedParts } from "../../apps/plan/parts.ts";
import { knownConfig, knownNames } from "../../apps/plan/shapes.ts";
import {
  activeWeights,
  cacheBytesPerToken,
  forwardFlops,
  headWeights,
  splitConfig,
} from "../../apps/plan/work.ts";
import { numParameters } from "../../lib/train/memory/plan.ts";
import { config } from "./tiny-training.ts";

/** Billions of weights, as the models' cards and technical reports state them (arXiv 2412.15115, 2505.09388, 2407.21783). */
const published: Readonly<Record<string, number>> = {
  ...{ "qwen2.5-0.5b": 0.49, "qwen2.5-1.5b": 1.54, "qwen2.5-3b": 3.09, "qwen2.5-7b": 7.61 },
  ...{ "qwen2.5-14b": 14.7, "qwen2.5-32b": 32.5, "qwen2.5-72b": 72.7 },
  ...{ "qwen3-0.6b": 0.6, "qwen3-1.7b": 1.7, "qwen3-4b": 4.0, "qwen3-8b": 8.2, "qwen3-14b": 14.8 },
  ...{ "qwen3-32b": 32.8, "qwen3-30b-a3b": 30.5 },
  ...{ "llama-3.2-1b": 1.23, "llama-3.2-3b": 3.21, "llama-3.1-8b": 8.03, "llama-3.1-70b": 70.6 },
};

test("every known shape has the published number of weights", () => {
  assert.deepEqual([...knownNames].sort(), Object.keys(published).sort());
  for (const name of knownNames) {
    const billions = numParameters(knownConfig(name)!) / 1e9;
    // Cards round to two or three digits.
    assert.ok(Math.abs(billions - published[name]!) <= 0.02 * published[name]!, `${name}: ${billions}`);
  }
});

test("a token goes through the experts that it chooses and no others", () => {
  const active =
    activeWeights(knownConfig("qwen3-30b-a3b")!) + 2 * headWeights(knownConfig("qwen3-30b-a3b")!);
  assert.ok(Math.abs(active / 1e9 - 3.3) < 0.1, `${active}`);
});

test("a forward pass is two operations a weight, and four for each channel and key", () => {
  // Layers: 2 x (2 x 64 x 64 + 2 x 64 x 32 + 3 x 64 x 256) weights; 10 keys of 64 channels in each of 2 layers.
  const layers = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 256);
  assert.equal(activeWeights(config), layers);
  assert.equal(
    forwardFlops(config, { tokens: 3, rows: 1, context: 10 }),
    3 * (2 * layers + 4 * 2 * 64 * 10) + 2 * 1024 * 64,
  );
  assert.equal(cacheBytesPerToken(config), 2 * 2 * 2 * 4 * 8);
});

test("devices that share products have their part of every matrix, and of keys and values", () => {
  const half = splitConfig(config, 2)!;
  assert.equal(activeWeights(half) * 2, activeWeights(config));
  assert.equal(headWeights(half) * 2, headWeights(config));
  assert.equal(cacheBytesPerToken(half) * 2, cacheBytesPerToken(config));
  assert.equal(splitConfig(config, 8), undefined, "four key heads are not shared by eight");
  const threes = { ...config, numHeads: 6, numKvHeads: 3, intermediateSize: 255 };
  assert.equal(splitConfig(threes, 3), undefined, "three are no power of two");
  assert.equal(splitConfig({ ...config, vocabSize: 1021 }, 4)?.vocabSize, 256, "the last one has 253");
});

test("a step of decoding is bound by the weights' bytes until batches are large", () => {
  const [shape, device] = [knownConfig("qwen2.5-7b")!, gpuOf("h200")];
  const weightBytes = 2 * numParameters(shape);
  const parts = computedParts(shape, device, { weightBytes, isAdapter: false, stateBytesPerWeight: 10 });
  const seconds = (sequences: number) => parts.decodeSeconds({ sequences, context: 0 });
  assert.equal(seconds(1), seconds(64));
  assert.ok(seconds(1) > weightBytes / device.bytesPerSecond);
  assert.ok(seconds(1024) > 2 * seconds(64));
});
