/** The start model's training data. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sftBatch, trainWorldModel, worldSft } from "../../../apps/world/demo/world-model.ts";
import { Model } from "../../../lib/model/model.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";

test("a start model is trained, saved and loads again; a step's batch depends on seed and step alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-world-"));
  try {
    const losses: number[] = [];
    await trainWorldModel({ folder, seed: 3, steps: 6, onStep: ({ loss }) => losses.push(loss) });
    assert.ok(losses[5]! < losses[0]!, `loss went from ${losses[0]} to ${losses[5]}`);
    await using model = await Model.load(folder);
    const tokenizer = await Tokenizer.load(folder);
    assert.equal(model.config.vocabSize, tokenizer.vocabSize);
    assert.deepEqual(sftBatch(tokenizer, 3, 7), sftBatch(tokenizer, 3, 7));
    assert.notDeepEqual(sftBatch(tokenizer, 3, 7)[0]!.tokens, sftBatch(tokenizer, 3, 8)[0]!.tokens);
    assert.equal(sftBatch(tokenizer, 3, 0).length, worldSft.batchSize);
  } finally {
    await rm(folder, { recursive: true });
  }
});
