/** The most likely tokens beside each that a GPU draws or scores, emulated: in steps that are replayed too. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { scoreSequences } from "../../lib/train/learner/trainer.ts";
import { gpuDevice } from "./device.ts";
import { ids, modelOn, shapes } from "./models.ts";

for (const [name, shape] of Object.entries(shapes))
  test(`a GPU lists the most likely tokens with the bits that training gives them: ${name}`, async () => {
    await using gpu = await modelOn(gpuDevice, shape);
    await using engine = await Engine.open(gpu, { blockTokens: 16 });
    const [prompt, temperature] = [ids(9, 1), 0.8];
    const plain = engine.open(ids(20, 2), { seed: 5 });
    const asking = engine.open(prompt, { seed: 1 });
    const [span, other] = await Promise.all([
      asking.generate({ maxTokens: 5, temperature, topLogprobs: 6 }),
      plain.generate({ maxTokens: 7 }),
    ]);
    assert.equal(other.topIds, undefined);
    const { numReplays } = await engine.stats();
    assert.ok(numReplays > 0);
    for (const i of span.ids.keys()) {
      const before = Int32Array.of(...prompt, ...span.ids.slice(0, i));
      const rows = Int32Array.of(before.length - 1);
      const each = Array.from({ length: shape.vocabSize }, (_, id) => ({
        tokens: Int32Array.of(...before, id),
        rows,
      }));
      const { logprobs } = await scoreSequences(gpu, each, { temperature });
      const all = logprobs.map((own, id): [number, number] => [id, own[0]!]);
      all.sort(([a, x], [b, y]) => y - x || a - b);
      const [expectedIds, expected] = [0, 1].map((part) => all.slice(0, 6).map((pair) => pair[part]!));
      assert.deepEqual([...span.topIds!.slice(6 * i, 6 * i + 6)], expectedIds);
      assert.deepEqual([...span.topLogprobs!.slice(6 * i, 6 * i + 6)], expected);
    }
    for (const each of [plain, asking]) each.close();
  });

test("scores on a GPU list what a span lists in the same places", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["Gemma's norms, bounds and windows"]!);
  await using engine = await Engine.open(gpu, { blockTokens: 16, maxBatchTokens: 24 });
  await using sequence = engine.open(ids(30, 1), { seed: 1 });
  await using twin = engine.open(ids(30, 1), { seed: 2 });
  const { ids: drawn, topIds, topLogprobs } = await sequence.generate({ maxTokens: 8, topLogprobs: 3 });
  const [asked, plain] = await Promise.all([
    twin.score(drawn, { topLogprobs: 3 }),
    sequence.score(ids(5, 4)),
  ]);
  assert.deepEqual([asked.topIds, asked.topLogprobs], [topIds, topLogprobs]);
  assert.equal(plain.topIds, undefined);
});
