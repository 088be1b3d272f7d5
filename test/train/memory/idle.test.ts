/** Keys and values are given back while weights are trained, and taken again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { filled } from "../tiny.ts";

test("training gives back the memory of free blocks, and generation goes on as before", async () => {
  // 32 KB of keys and values a token.
  const sizes = { vocabSize: 97, hiddenSize: 64, intermediateSize: 64, numLayers: 8, numHeads: 8 };
  await using model = await Model.create({ ...sizes, headDim: 64, maxPosition: 4096 }, { std: 0.1 });
  await using engine = await Engine.open(model);
  const ids = Int32Array.from({ length: 1500 }, (_, t) => (t * 31) % 97);
  const kept = engine.open(ids.subarray(0, 100));
  const generate = async (): Promise<number[]> => {
    const sequence = engine.open(ids);
    const { ids: found } = await sequence.generate({ maxTokens: 4, temperature: 0 });
    sequence.close();
    return [...found];
  };
  const before = await generate();
  const start = [...(await kept.generate({ maxTokens: 4, temperature: 0 })).ids];
  const full = process.memoryUsage.rss();
  await using trainer = await Trainer.open(model);
  await trainer.accumulate([
    { tokens: ids.subarray(0, 8), rows: Int32Array.of(3), weights: filled(1, () => 1) },
  ]);
  const released = full - process.memoryUsage.rss();
  assert.ok(released > 30e6, `${released / 1e6} MB`);
  assert.deepEqual(await generate(), before);
  assert.equal((await kept.generate({ maxTokens: 4, temperature: 0 })).ids.length + start.length, 8);
  kept.close();
  const again = engine.open(ids.subarray(0, 100));
  assert.deepEqual([...(await again.generate({ maxTokens: 4, temperature: 0 })).ids], start);
  again.close();
});
