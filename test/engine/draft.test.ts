/** Prompt-lookup decoding gives the tokens and the bits of plain decoding, in fewer steps where text is copied. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "../../lib/base/defined.ts";
import { Engine } from "../../lib/engine/engine.ts";
import type { EngineOptions } from "../../lib/engine/engine-options.ts";
import type { GenerateOptions, Span } from "../../lib/engine/span.ts";
import { quantisedForms } from "../../lib/model/weights-form.ts";
import { dice } from "../dice.ts";
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
  form: Parameters<typeof tinyModel>[0] = {},
): Promise<Told> {
  const model = await tinyModel(form);
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
  ["constrained", { maxTokens: 20, temperature: 0.2, constraint: { regex: "[ -~]+" } }],
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

const forms: Readonly<Record<string, Parameters<typeof tinyModel>[0]>> = {
  float32: {},
  bfloat16: { dtype: "bfloat16" },
  ...Object.fromEntries(quantisedForms.map((weights) => [weights, { weights }])),
  ...Object.fromEntries(
    quantisedForms.map((weights) => [`${weights} in bf16`, { weights, dtype: "bfloat16" }]),
  ),
};

/** A sampler of any kind; low temperatures, so that text repeats itself. */
function anySampler(roll: (sides: number) => number): GenerateOptions {
  const either = <Value>(value: Value): Value | undefined => (roll(2) === 0 ? value : undefined);
  return defined({
    maxTokens: 20 + roll(30),
    temperature: roll(4) * 0.1,
    topP: either(0.5 + roll(5) / 10),
    topK: either(1 + roll(30)),
    minP: either(roll(10) / 100),
    repetitionPenalty: either(0.9 + roll(3) / 10),
    frequencyPenalty: either(roll(3) / 10),
    presencePenalty: either(roll(3) / 10),
    logitBias: either({ [roll(90)]: roll(5), [roll(90)]: -roll(5) }),
    badWords: either([[roll(90)], [roll(90), roll(90)]]),
    stop: either([String.fromCharCode(33 + roll(90))]),
    entropies: roll(2) === 0,
    topLogprobs: roll(4),
  }) as GenerateOptions;
}

for (const [name, form] of Object.entries(forms)) {
  test(`no sampler's tokens, log-probabilities and entropies depend on drafts: ${name}`, async () => {
    const roll = dice(name.length);
    let numAccepted = 0;
    const samplers = [
      { maxTokens: 40, temperature: 0 },
      ...Array.from({ length: 6 }, () => anySampler(roll)),
    ];
    for (const sampler of samplers) {
      const plain = await continueAll(sampler, { promptLookup: false }, form);
      const drafted = await continueAll(sampler, {}, form);
      sameSpans(drafted.spans, plain.spans);
      numAccepted += drafted.numAccepted;
    }
    assert.ok(numAccepted > 0);
  });
}

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
