/** Rows of a head that are no token, as in vocabularies that are padded to a round number, are never drawn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { GenerateOptions } from "../../lib/engine/span.ts";
import type { TokenTable } from "../../lib/engine/vocabulary.ts";
import { generateOnce, letters, prompt, tinyModel } from "./models.ts";

/** A third of the rows, and of the draws, are no token: what stands behind the last one, and holes before it. */
const numRows = 160;
const holes = new Set([3, 31, 32, 64, 95]);
const isToken = (id: number): boolean => id < letters.vocabSize && !holes.has(id);
const holed: TokenTable = {
  ...letters,
  vocabSize: numRows,
  tokenBytes: (id) => (isToken(id) ? letters.tokenBytes(id) : new Uint8Array()),
  tokenOf: (id) => (isToken(id) ? `${id}` : undefined),
};

const ways: readonly (readonly [string, GenerateOptions])[] = [
  ["greedy", { maxTokens: 60, temperature: 0 }],
  ["drawn", { maxTokens: 60 }],
  ["hot", { maxTokens: 60, temperature: 5, entropies: true, topLogprobs: 5 }],
  ["limited", { maxTokens: 60, temperature: 2, topP: 0.95, topK: 50, minP: 0.001 }],
  ["penalised", { maxTokens: 60, frequencyPenalty: 1, repetitionPenalty: 1.5, badWords: [[5]] }],
  ["asked for", { maxTokens: 60, logitBias: { 100: 100, 3: 100 } }],
  ["constrained", { maxTokens: 60, constraint: { regex: "[ -~]+" } }],
];

/** Prompts in which text stands twice, so that tokens are copied ahead of their draws. */
const prompts = [1, 2, 3].map((salt) =>
  Int32Array.from([...prompt(20, salt), ...prompt(20, salt), ...prompt(6, salt)].filter(isToken)),
);

for (const [name, options] of ways) {
  test(`no row without a token is drawn: ${name}; log-probabilities stay those of the whole head`, async () => {
    const model = await tinyModel({ numTokens: numRows });
    for (const promptLookup of [true, false]) {
      await using engine = await Engine.open(model, { tokenizer: holed, promptLookup });
      const all = prompts.flatMap((ids) => [1, 2, 3].map((seed) => ({ ids, seed })));
      const spans = await Promise.all(
        all.map(({ ids, seed }) =>
          generateOnce(engine, ids, { ...options, ...(options.constraint ? {} : { stopIds: [] }), seed }),
        ),
      );
      assert.ok(spans.every((span) => span.ids.length > 0 && span.ids.every(isToken)));
      const [{ ids: said, logprobs }] = spans as [(typeof spans)[0]];
      if ((options.temperature ?? 1) > 1) continue;
      const first = prompts[0] as Int32Array;
      const scored = await model.scoreLogprobs(Int32Array.from([...first, ...said]));
      assert.deepEqual([...logprobs], scored.slice(first.length));
    }
    model.close();
  });
}

test("without the holes the draws of a whole vocabulary are what they were", async () => {
  const model = await tinyModel();
  await using plain = await Engine.open(model);
  await using table = await Engine.open(model, { tokenizer: letters });
  const [first, second] = await Promise.all(
    [plain, table].map((engine) => generateOnce(engine, prompt(12), { maxTokens: 60, stopIds: [], seed: 4 })),
  );
  assert.deepEqual(first, second);
  model.close();
});
