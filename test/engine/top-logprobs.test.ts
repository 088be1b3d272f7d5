/** The most likely tokens beside each sampled or scored one, against the log-probabilities of all tokens. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Span } from "../../lib/engine/span.ts";
import type { Model } from "../../lib/model/model.ts";
import { scoreSequences } from "../../lib/train/learner/trainer.ts";
import { generateOnce, letters, prompt, tinyModel } from "./models.ts";

const blockTokens = 16;
const vocabSize = 97;
let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model, { blockTokens, tokenizer: letters });
});

after(async () => {
  await engine.close();
  model.close();
});

/** As training scores every token that can follow, the likeliest first. */
async function sortedAfter(of: Model, tokens: Int32Array, temperature = 1): Promise<[number, number][]> {
  const rows = Int32Array.of(tokens.length - 1);
  const each = Array.from({ length: vocabSize }, (_, id) => ({ tokens: Int32Array.of(...tokens, id), rows }));
  const { logprobs } = await scoreSequences(of, each, { temperature });
  const all = logprobs.map((own, id): [number, number] => [id, own[0]!]);
  return all.sort(([a, x], [b, y]) => y - x || a - b);
}

/** Row i of a span's list. */
function listed({ ids, topIds, topLogprobs }: Pick<Span, "ids" | "topIds" | "topLogprobs">, i: number) {
  const count = (topIds?.length ?? 0) / ids.length;
  const at = i * count;
  return Array.from({ length: count }, (_, k): [number, number] => [topIds![at + k]!, topLogprobs![at + k]!]);
}

for (const dtype of ["float32", "bfloat16"] as const)
  test(`the most likely tokens are those of all, to the bit that training gives each, in ${dtype}`, async () => {
    await using own = await tinyModel({ dtype });
    await using generating = await Engine.open(own, { blockTokens });
    for (const temperature of [1, 0.7, 0]) {
      const options = { temperature, topLogprobs: 20, maxTokens: 6, stopIds: [], seed: 3 };
      const span = await generateOnce(generating, prompt(9), options);
      for (const i of span.ids.keys()) {
        const before = Int32Array.of(...prompt(9), ...span.ids.slice(0, i));
        const expected = await sortedAfter(own, before, temperature === 0 ? 1 : temperature);
        assert.deepEqual(listed(span, i), expected.slice(0, 20));
        const drawn = listed(span, i).find(([id]) => id === span.ids[i]);
        if (drawn !== undefined) assert.equal(drawn[1], span.logprobs[i]);
        if (temperature === 0) assert.equal(listed(span, i)[0]?.[0], span.ids[i]);
      }
    }
  });

test("sequences that ask for more, fewer or none run together, and what is drawn is the same", async () => {
  const counts = [0, 1, 5, undefined, 20];
  const options = { maxTokens: 12, stopIds: [] };
  const sequences = counts.map((_, seed) => engine.open(prompt(7 + seed), { seed }));
  const spans = await Promise.all(
    sequences.map((each, i) => each.generate({ ...options, topLogprobs: counts[i] ?? 0 })),
  );
  for (const [seed, { ids, logprobs, topIds, topLogprobs }] of spans.entries()) {
    const plain = await generateOnce(engine, prompt(7 + seed), { ...options, seed });
    assert.deepEqual([ids, logprobs], [plain.ids, plain.logprobs]);
    const count = counts[seed] ?? 0;
    assert.equal(topIds?.length, count === 0 ? undefined : 12 * count);
    assert.equal(topLogprobs?.length, topIds?.length);
    assert.equal(plain.topIds, undefined);
  }
  for (const each of sequences) each.close();
});

test("a stream's chunks have the lists of their tokens, copied text's too", async () => {
  const loop = Int32Array.from({ length: 40 }, (_, i) => i % 4);
  const options = { maxTokens: 20, stopIds: [], topLogprobs: 3, temperature: 0 };
  const [ids, tops]: [number[], number[]] = [[], []];
  using sequence = engine.open(loop, { seed: 1 });
  for await (const chunk of sequence.stream(options)) {
    assert.equal(chunk.topIds?.length, 3 * chunk.ids.length);
    ids.push(...chunk.ids);
    tops.push(...(chunk.topLogprobs ?? []));
  }
  await using undrafted = await Engine.open(model, { blockTokens, promptLookup: false });
  const whole = await generateOnce(undrafted, loop, { ...options, seed: 1 });
  assert.deepEqual([ids, tops], [[...whole.ids], [...whole.topLogprobs!]]);
});

test("penalties, biases and a constraint shape what is drawn, not what is listed", async () => {
  const options = { maxTokens: 1, topLogprobs: 4, seed: 2 };
  const plain = await generateOnce(engine, prompt(9), options);
  const bias = { [plain.topIds![0]!]: Number.NEGATIVE_INFINITY };
  for (const shaped of [{ logitBias: bias, topK: 1 }, { constraint: { regex: "[a-c]{3}" } }]) {
    const span = await generateOnce(engine, prompt(9), { ...options, ...shaped });
    assert.deepEqual([span.topIds, span.topLogprobs], [plain.topIds, plain.topLogprobs]);
    assert.notEqual(span.ids[0], plain.topIds![0]);
  }
});

test("scores list what a span lists in the same places, however the prompt is cut and whatever else runs", async () => {
  const options = { maxTokens: 30, stopIds: [], topLogprobs: 5, seed: 4 };
  const span = await generateOnce(engine, prompt(33), options);
  await using narrow = await Engine.open(model, { blockTokens, numBlocks: 9, maxBatchTokens: 19 });
  const sequence = narrow.open(prompt(33));
  const other = narrow.open(prompt(33));
  const [scores, plain] = await Promise.all([
    sequence.score(span.ids, { topLogprobs: 5 }),
    other.score(span.ids.slice(3)),
  ]);
  assert.deepEqual([scores.topIds, scores.topLogprobs], [span.topIds, span.topLogprobs]);
  assert.deepEqual(Object.keys(plain), ["logprobs", "entropies"]);
  const behind = await sequence.score(span.ids, { after: 20, topLogprobs: 1 });
  assert.equal(behind.topIds?.length, 30);
  assert.equal((await sequence.score([], { topLogprobs: 2 })).topIds?.length, 0);
  for (const each of [sequence, other]) each.close();
});

test("counts that cannot be listed are refused", async () => {
  using sequence = engine.open(prompt(5));
  for (const topLogprobs of [21, -1, 1.5]) {
    await assert.rejects(sequence.generate({ maxTokens: 1, topLogprobs }), { code: "ERR_RANGE" });
    await assert.rejects(sequence.score([1], { topLogprobs }), { code: "ERR_RANGE" });
  }
  await using few = await tinyModel({ numTokens: 12 });
  await using small = await Engine.open(few, { blockTokens });
  using short = small.open([1, 2]);
  await assert.rejects(short.generate({ maxTokens: 1, topLogprobs: 13 }), {
    message: "topLogprobs: expected 0 to 12, got 13",
  });
  const { topIds } = await short.generate({ maxTokens: 1, topLogprobs: 12 });
  assert.deepEqual(
    [...topIds!].sort((a, b) => a - b),
    [...Array(12).keys()],
  );
});
