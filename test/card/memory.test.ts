/** A card's memory, emulated: what does not fit is tried again, smaller. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Engine, type EngineStats } from "../../lib/engine/engine.ts";
import { numParameters } from "../../lib/train/memory/plan.ts";
import { modelOn, shapes } from "./models.ts";

const ids = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, i) => (i * 37 + salt * 11 + 5) % 91);

const shape = { ...shapes["biases and a tied head"]!, vocabSize: 2048 };
const blockTokens = 16;
// Keys and values of 2 layers with 2 heads of 64 numbers.
const blockBytes = blockTokens * 2 * 2 * 2 * 64 * 2;

/** How much memory the card has from now on. */
function give(bytes: number | undefined): void {
  if (bytes === undefined) delete process.env["SEEKRL_EMULATED_BYTES"];
  else process.env["SEEKRL_EMULATED_BYTES"] = String(Math.round(bytes));
}

afterEach(() => give(undefined));

/** Prompts in one prefill chunk, a second turn, a score; with what of the card's memory the step does not have. */
async function conversation(engine: Engine): Promise<{ told: unknown; stats: EngineStats }> {
  const told = await Promise.all(
    [90, 45, 61].map(async (length, i) => {
      await using sequence = engine.open(ids(length, i), { seed: i });
      const span = await sequence.generate({ maxTokens: 5, topP: 0.9, entropies: true });
      sequence.append(ids(20, i + 5));
      const next = await sequence.generate({ maxTokens: 4, temperature: 0 });
      const score = await sequence.score(ids(30, i + 9));
      return [span.ids, span.logprobs, span.entropies, next.ids, next.logprobs, score.logprobs];
    }),
  );
  return { told, stats: await engine.stats() };
}

test("a step that the card has no memory for is tried again with fewer tokens, and nothing else differs", async () => {
  await using card = await modelOn("emulated", shape);
  const weights = 2 * numParameters(card.config);
  const sizes = { blockTokens, numBlocks: 40, maxBatchTokens: 256 };
  await using roomy = await Engine.open(card, sizes);
  const expected = await conversation(roomy);
  assert.equal(expected.stats.numOutOfMemory, 0);
  await roomy.close();
  const counts: number[] = [];
  // Beside weights, cache and the tables of positions.
  for (const room of [2 ** 21, 250_000]) {
    await using narrow = await Engine.open(card, sizes);
    give(weights + sizes.numBlocks * blockBytes + room);
    const { told, stats } = await conversation(narrow);
    assert.deepEqual(told, expected.told, `with ${room} bytes`);
    assert.equal(stats.numGenerated, expected.stats.numGenerated);
    assert.equal(stats.numPrefilled, expected.stats.numPrefilled);
    counts.push(stats.numOutOfMemory);
    give(undefined);
  }
  assert.equal(counts[0], 0);
  assert.ok(counts.at(-1)! > 1);
});

test("a sequence fails when the card has no memory for one token, with the remedy, and the engine goes on", async () => {
  await using card = await modelOn("emulated", shape);
  await using engine = await Engine.open(card, { blockTokens, numBlocks: 40 });
  await using sequence = engine.open(ids(9, 1), { seed: 3 });
  await using fork = sequence.fork({ seed: 4 });
  give(1);
  for (const each of [sequence, fork])
    await assert.rejects(each.generate({ maxTokens: 3 }), { code: "ERR_MEMORY", message: /cacheBytes/ });
  give(undefined);
  assert.equal((await sequence.generate({ maxTokens: 3 })).ids.length, 3);
  assert.equal((await fork.generate({ maxTokens: 3 })).ids.length, 3);
});
