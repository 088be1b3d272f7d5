/** Prompt-lookup decoding gives the tokens and the bits of plain decoding, in fewer steps where text is copied. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { EngineOptions } from "../../lib/engine/engine-options.ts";
import type { GenerateOptions, Span } from "../../lib/engine/span.ts";
import { letters, prompt, sameSpans, tinyModel } from "./models.ts";

/** Prompts in which much stands twice. */
const prompts = [1, 2, 3, 4].map((salt) =>
  Int32Array.from([...prompt(20, salt), ...prompt(20, salt), ...prompt(6, salt)]),
);

interface Told {
  readonly spans: Span[];
  readonly numAccepted: number;
}

/** Three spans of each prompt, one after another with something appended between them, all prompts together. */
async function continueAll(
  options: GenerateOptions,
  sizes: EngineOptions,
  dtype: "float32" | "bfloat16" = "float32",
): Promise<Told> {
  const model = await tinyModel({ dtype });
  const engine = await Engine.open(model, { tokenizer: letters, ...sizes });
  const continued = prompts.map(async (ids, seed) => {
    const sequence = engine.open(ids, { seed });
    const spans: Span[] = [];
    for (const length of [7, 20, 3]) {
      spans.push(await sequence.generate(options));
      sequence.append(ids.subarray(0, length));
    }
    sequence.truncate(30, { seed: seed + 10 });
    spans.push(await sequence.generate(options));
    sequence.close();
    return spans;
  });
  const spans = (await Promise.all(continued)).flat();
  const { numAccepted, numUsedBlocks } = await engine.stats();
  assert.equal(numUsedBlocks, 0);
  await engine.close();
  model.close();
  return { spans, numAccepted };
}

const ways: readonly (readonly [string, GenerateOptions, EngineOptions?])[] = [
  ["greedy", { maxTokens: 40, temperature: 0, entropies: true, stopIds: [] }],
  ["cold", { maxTokens: 40, temperature: 0.2 }],
  ["warm", { maxTokens: 25, temperature: 1, entropies: true }],
  ["limited", { maxTokens: 40, temperature: 0.5, topP: 0.8, topK: 20 }],
  ["penalised", { maxTokens: 40, temperature: 0.3, frequencyPenalty: 0.1, badWords: [[3, 4], [9]] }],
  ["stopped", { maxTokens: 60, temperature: 0, stop: ["A", "7", "q)"], stopIds: [96, 12, 40] }],
  ["short of blocks", { maxTokens: 40, temperature: 0 }, { numBlocks: 16, blockTokens: 16 }],
  ["short of places", { maxTokens: 40, temperature: 0 }, { maxBatchTokens: 12, maxBatchSequences: 3 }],
];

for (const [name, options, sizes = {}] of ways) {
  test(`tokens, log-probabilities and ends do not depend on drafts: ${name}`, async () => {
    const plain = await continueAll(options, { ...sizes, promptLookup: false });
    const drafted = await continueAll(options, sizes);
    sameSpans(drafted.spans, plain.spans);
    assert.equal(plain.numAccepted, 0);
  });
}

test("in bf16, too", async () => {
  const options = { maxTokens: 40, temperature: 0 };
  const plain = await continueAll(options, { promptLookup: false }, "bfloat16");
  const drafted = await continueAll(options, {}, "bfloat16");
  sameSpans(drafted.spans, plain.spans);
  assert.ok(drafted.numAccepted > 0);
});

test("text that repeats takes fewer steps", async () => {
  const model = await tinyModel();
  await using engine = await Engine.open(model);
  const sequence = engine.open(prompt(24));
  // Only 2 1 2 1 ... can be drawn.
  const logitBias = Object.fromEntries([1, 2].map((id) => [id, 1000 * id]));
  const badWords = [
    [2, 2],
    [1, 1],
  ];
  await sequence.generate({ maxTokens: 181, temperature: 0, logitBias, badWords });
  const { numSteps, numAccepted } = await engine.stats();
  assert.ok(numSteps <= 40 && numAccepted >= 140, `${numSteps} steps, ${numAccepted} accepted`);
  sequence.close();
  model.close();
});

test("drafts that are not drawn end", async () => {
  const model = await tinyModel();
  await using engine = await Engine.open(model);
  // At this temperature hardly anything is drawn twice, while three tokens in a row are often found again.
  const sequence = engine.open(
    Int32Array.from({ length: 300 }, (_, i) => i % 2),
    { seed: 3 },
  );
  await sequence.generate({ maxTokens: 200, temperature: 1000, logitBias: { 0: 8000, 1: 8000 } });
  const { numDrafted, numAccepted } = await engine.stats();
  assert.ok(numDrafted > 0 && numDrafted < 800, `${numDrafted} drafted, ${numAccepted} accepted`);
  sequence.close();
  model.close();
});
