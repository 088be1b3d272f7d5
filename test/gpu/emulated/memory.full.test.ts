/** A GPU's memory, emulated: what does not fit is tried again, smaller. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Engine, type EngineStats } from "../../../lib/engine/engine.ts";
import type { Model } from "../../../lib/model/model.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { numParameters } from "../../../lib/train/memory/plan.ts";
import { filled } from "../../train/tiny.ts";
import { ids, modelOn, shapes } from "../models.ts";

const shape = { ...shapes["biases and a tied head"]!, vocabSize: 2048 };
const blockTokens = 16;
// Keys and values of 2 layers with 2 heads of 64 numbers.
const blockBytes = blockTokens * 2 * 2 * 2 * 64 * 2;

/** How much memory the GPU has from now on. */
function give(bytes: number | undefined): void {
  if (bytes === undefined) delete process.env["SEEKRL_EMULATED_BYTES"];
  else process.env["SEEKRL_EMULATED_BYTES"] = String(Math.round(bytes));
}

afterEach(() => give(undefined));

/** Prompts in one prefill chunk, a second turn, a score; with what of the GPU's memory the step does not have. */
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

test("a step that the GPU has no memory for is tried again with fewer tokens, and nothing else differs", async () => {
  await using gpu = await modelOn("emulated", shape);
  const weights = 2 * numParameters(gpu.config);
  const sizes = { blockTokens, numBlocks: 40, maxBatchTokens: 256 };
  await using roomy = await Engine.open(gpu, sizes);
  const expected = await conversation(roomy);
  assert.equal(expected.stats.numOutOfMemory, 0);
  await roomy.close();
  const counts: number[] = [];
  // Beside weights, cache and the tables of positions.
  for (const room of [2 ** 21, 250_000]) {
    await using narrow = await Engine.open(gpu, sizes);
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

test("a sequence fails when the GPU has no memory for one token, with the remedy, and the engine goes on", async () => {
  await using gpu = await modelOn("emulated", shape);
  await using engine = await Engine.open(gpu, { blockTokens, numBlocks: 40 });
  await using sequence = engine.open(ids(9, 1), { seed: 3 });
  await using fork = sequence.fork({ seed: 4 });
  give(1);
  for (const each of [sequence, fork])
    await assert.rejects(each.generate({ maxTokens: 3 }), { code: "ERR_MEMORY", message: /cacheBytes/ });
  give(undefined);
  assert.equal((await sequence.generate({ maxTokens: 3 })).ids.length, 3);
  assert.equal((await fork.generate({ maxTokens: 3 })).ids.length, 3);
});

test("a step whose graph the GPU has no memory for is launched, with the same numbers", async () => {
  await using gpu = await modelOn("emulated", shape);
  const generate = async () => {
    await using engine = await Engine.open(gpu, { blockTokens, numBlocks: 8 });
    await using sequence = engine.open(ids(9, 1), { seed: 3 });
    const { ids: tokens, logprobs } = await sequence.generate({ maxTokens: 8 });
    return { told: { tokens, logprobs }, stats: await engine.stats() };
  };
  process.env["SEEKRL_EMULATED_GRAPH_BYTES"] = "100";
  const launched = await generate();
  delete process.env["SEEKRL_EMULATED_GRAPH_BYTES"];
  const replayed = await generate();
  assert.deepEqual(launched.told, replayed.told);
  assert.deepEqual([launched.stats.numReplays, replayed.stats.numReplays], [0, 6]);
  assert.equal(launched.stats.numOutOfMemory, 0);
});

test("what the host has no room for is computed again, and nothing else differs", async () => {
  await using gpu = await modelOn("emulated", shape);
  const generate = async (numBlocks: number) => {
    await using engine = await Engine.open(gpu, { blockTokens, numBlocks });
    // Of 4 blocks each: more than five caches of 9.
    const sequences = Array.from({ length: 14 }, (_, i) => engine.open(ids(50 + i, i), { seed: i }));
    const told: unknown[] = [];
    for (const maxTokens of [1, 2])
      for (const each of sequences) {
        const { ids: tokens, logprobs } = await each.generate({ maxTokens });
        told.push([tokens, logprobs]);
      }
    for (const each of sequences) each.close();
    return { told, stats: await engine.stats() };
  };
  const [roomy, narrow] = [await generate(80), await generate(9)];
  assert.deepEqual(narrow.told, roomy.told);
  assert.ok(narrow.stats.numSwapped > 4 && narrow.stats.numPreemptions > 4);
  assert.ok(narrow.stats.numPrefilled > roomy.stats.numPrefilled);
});

/** Turns in which some wait while others generate, a fork, a text taken back; all that is told, and what was run. */
async function turns(engine: Engine): Promise<{ told: unknown; stats: EngineStats }> {
  const sequences = [70, 33, 90, 20, 48].map((length, i) => engine.open(ids(length, i), { seed: i }));
  const told: unknown[] = [];
  for (const turn of [0, 1]) {
    for (const some of [sequences.slice(0, 2), sequences.slice(2)]) {
      const spans = await Promise.all(some.map((each) => each.generate({ maxTokens: 12 + turn, topP: 0.9 })));
      told.push(spans.map(({ ids: tokens, logprobs }) => [tokens, logprobs]));
      for (const each of some) each.append(ids(7, turn));
    }
  }
  const { logprobs } = await sequences[0]!.score(ids(9, 3));
  told.push(logprobs);
  const stats = await engine.stats();
  const fork = sequences[1]!.fork({ seed: 40 });
  await sequences[2]!.truncate(50);
  const last = await Promise.all(
    [fork, sequences[2]!, sequences[1]!].map((each) => each.generate({ maxTokens: 9 })),
  );
  told.push(last.map(({ ids: tokens, logprobs: each }) => [tokens, each]));
  for (const each of [...sequences, fork]) each.close();
  return { told, stats };
}

test("sequences that lose their blocks on a GPU get them back from the host, and compute nothing again", async () => {
  await using gpu = await modelOn("emulated", shape);
  await using roomy = await Engine.open(gpu, { blockTokens, numBlocks: 60 });
  await using narrow = await Engine.open(gpu, { blockTokens, numBlocks: 9 });
  const expected = await turns(roomy);
  const { told, stats } = await turns(narrow);
  assert.deepEqual(told, expected.told);
  assert.ok(stats.numSwapped > 4);
  assert.equal(stats.numPreemptions, 0);
  assert.equal(stats.numPrefilled, expected.stats.numPrefilled);
  assert.equal(expected.stats.numSwapped, 0);
});

async function train(model: Model): Promise<void> {
  await using trainer = await Trainer.open(model);
  const tokens = ids(40, 1);
  await trainer.accumulate([
    { tokens, rows: Int32Array.from({ length: 30 }, (_, i) => 5 + i), weights: filled(30, () => 1 / 30) },
  ]);
  await trainer.step({ learningRate: 1e-3 });
}

test("a micro-batch that the GPU has no memory for leaves nothing in the next gradients, nor in what is told of them", async () => {
  await using gpu = await modelOn("emulated", shape);
  const tokens = ids(60, 1);
  const rows = Int32Array.from({ length: 50 }, (_, i) => 5 + i);
  const one = { tokens, rows, weights: filled(50, () => 1 / 50) };
  const told = async (trainer: Trainer) => {
    await trainer.zeroGradients();
    const stats = await trainer.accumulate([one, { ...one, tokens: ids(60, 2) }], { maxTokens: 1 });
    return [stats, await trainer.gradient("model.layers.0.self_attn.k_proj.weight")];
  };
  await using trainer = await Trainer.open(gpu, { activationBytes: 1e12 });
  const expected = await told(trainer);
  // Beside weights, gradients and AdamW's state: from too little for the forward pass to enough.
  const held = (2 + 4 + 10) * numParameters(gpu.config);
  const outcomes: boolean[] = [];
  for (let room = 2e5; !outcomes.at(-1); room *= 1.6) {
    give(held + room);
    const failed = await trainer.accumulate([one], {}).then(
      () => false,
      (error: { code: string }) => error.code === "ERR_MEMORY",
    );
    outcomes.push(!failed);
    give(undefined);
    assert.deepEqual(await told(trainer), expected, `with ${room} bytes`);
  }
  assert.ok(outcomes.length > 3);
});

test("a GPU's cache is given back while the process trains, and what waits in it comes back", async () => {
  await using gpu = await modelOn("emulated", shape);
  await using other = await modelOn("emulated", shape);
  const sizes = { blockTokens, numBlocks: 1000 };
  const [held, cache] = [2 * 2 * numParameters(gpu.config), sizes.numBlocks * blockBytes];
  const generate = async (between: (engine: Engine) => Promise<void>) => {
    await using engine = await Engine.open(gpu, sizes);
    await using sequence = engine.open(ids(50, 2), { seed: 5 });
    await sequence.generate({ maxTokens: 10 });
    await between(engine);
    const { ids: tokens, logprobs } = await sequence.generate({ maxTokens: 10 });
    return { tokens, logprobs, stats: await engine.stats() };
  };
  const expected = await generate(async () => {});
  // Room for the cache, or for what training keeps, not for both.
  give(held + cache + 2 ** 20);
  const { stats, ...told } = await generate(() => train(other));
  assert.deepEqual(told, { tokens: expected.tokens, logprobs: expected.logprobs });
  assert.deepEqual([stats.numSwapped, stats.numPreemptions], [1, 0]);
  assert.equal(stats.numPrefilled, expected.stats.numPrefilled);
  assert.equal(stats.numBlocks, sizes.numBlocks);
});

test("without a size the cache is what a GPU has beside a step, counted again after each training", async () => {
  await using gpu = await modelOn("emulated", shape);
  const weights = 2 * numParameters(gpu.config);
  const options = { blockTokens, maxBatchTokens: 256, maxBatchSequences: 8 };
  const blocksOf = async (bytes: number): Promise<number> => {
    give(bytes);
    await using engine = await Engine.open(gpu, { ...options, maxBatchSequences: 2000 });
    return (await engine.stats()).numBlocks;
  };
  // Of what a GPU has more, nine tenths.
  const [less, more] = [await blocksOf(2 ** 26), await blocksOf(2 ** 27)];
  assert.ok(Math.abs(more - less - (0.9 * 2 ** 26) / blockBytes) <= 1);

  give(8e6);
  await using engine = await Engine.open(gpu, options);
  const { numBlocks } = await engine.stats();
  assert.ok(numBlocks > 20 && weights + numBlocks * blockBytes < 0.9 * 8e6);
  const { stats } = await conversation(engine);
  assert.equal(stats.numOutOfMemory, 0);
});

test("a cache that finds less room after a training goes on with fewer blocks, and says whom it cannot hold", async () => {
  await using gpu = await modelOn("emulated", shape);
  give(20e6);
  await using engine = await Engine.open(gpu, { blockTokens, maxBatchTokens: 256, maxBatchSequences: 8 });
  await using sequence = engine.open(ids(200, 1));
  await sequence.generate({ maxTokens: 2 });
  await train(gpu);
  await using _other = await modelOn("emulated", { ...shape, vocabSize: 115_000 });
  await assert.rejects(sequence.generate({ maxTokens: 2 }), {
    code: "ERR_MEMORY",
    message: /at most 16 tokens/,
  });
  await using short = engine.open(ids(9, 1));
  assert.equal((await short.generate({ maxTokens: 2 })).ids.length, 2);
});
