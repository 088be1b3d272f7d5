/** Rows of a head that are no token are never drawn on a GPU, emulated: in steps that are replayed too. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { gpuDevice } from "./device.ts";
import { ids, modelOn, shapes } from "./models.ts";

const numTokens = 40;
const table = {
  vocabSize: numTokens,
  eosIds: [],
  tokenBytes: (id: number) => Uint8Array.of(48 + id),
  isSpecial: () => false,
  tokenOf: (id: number) => (id === 7 ? undefined : `${id}`),
};

test("no row without a token is drawn on a GPU, greedily, by chance, limited or held to an expression", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["biases and a tied head"]!);
  await using engine = await Engine.open(gpu, { blockTokens: 16, tokenizer: table });
  const ways = [
    ...[{ temperature: 0 }, { temperature: 4 }, { temperature: 2, topK: 30, frequencyPenalty: 0.5 }],
    { temperature: 2, constraint: { regex: "[0-9A-Z]{4}" }, stopIds: [0] },
  ];
  const spans = await Promise.all(
    ways.map(async (way, seed) => {
      await using sequence = engine.open(ids(9, seed), { seed });
      return await sequence.generate({ maxTokens: 12, stopIds: [], ...way });
    }),
  );
  for (const span of spans) {
    assert.ok(span.ids.length > 0);
    assert.ok(span.ids.every((id) => id < numTokens && id !== 7));
  }
  await using alone = engine.open(ids(9, 5), { seed: 9 });
  const before = (await engine.stats()).numReplays;
  const { ids: drawn } = await alone.generate({ maxTokens: 12, temperature: 4 });
  assert.ok(drawn.every((id) => id < numTokens && id !== 7));
  // The mask lies on the GPU: steps run ahead of their draws as without it.
  assert.ok((await engine.stats()).numReplays > before);
});
