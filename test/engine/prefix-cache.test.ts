/** Keys and values that sequences leave behind: found by those that begin alike, and never anything but what they say. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { dice } from "../dice.ts";
import { generateOnce, prompt, sameSpans, tinyModel } from "./models.ts";

const blockTokens = 8;
let model: Model;

before(async () => {
  model = await tinyModel();
});

after(() => model.close());

/** What an engine without a past says. */
async function fresh(of: Model, ids: Int32Array, seed: number, maxTokens: number) {
  await using engine = await Engine.open(of);
  return await generateOnce(engine, ids, { seed, maxTokens, stopIds: [] });
}

test("a prompt that was read before is read from its last whole block on", async () => {
  await using engine = await Engine.open(model, { blockTokens });
  const options = { seed: 1, maxTokens: 5, stopIds: [] };
  const first = await generateOnce(engine, prompt(83), options);
  assert.equal((await engine.stats()).numReused, 0);
  sameSpans(await generateOnce(engine, prompt(83), options), first);
  const { numPrefilled, numReused, numUsedBlocks } = await engine.stats();
  assert.equal(numReused, 80);
  assert.equal(numPrefilled, 82 + 2);
  assert.equal(numUsedBlocks, 0);
});

test("a conversation that is sent again whole reads only what is new, its own answers included", async () => {
  await using engine = await Engine.open(model, { blockTokens });
  let tokens = prompt(40);
  let numRead = 0;
  for (let turn = 0; turn < 4; turn += 1) {
    const { ids } = await generateOnce(engine, tokens, { seed: turn, maxTokens: 20, stopIds: [] });
    const { numPrefilled } = await engine.stats();
    // Of the last turn's answer one token was never run, and a block may be left unfilled.
    if (turn > 0) assert.ok(numPrefilled - numRead <= 12 + 1 + blockTokens, `${numPrefilled - numRead}`);
    numRead = numPrefilled;
    tokens = Int32Array.of(...tokens, ...ids, ...prompt(12, turn));
  }
});

test("a prompt whose length is a whole number of blocks still has its last token run", async () => {
  await using engine = await Engine.open(model, { blockTokens });
  for (let i = 0; i < 2; i += 1) {
    const found = await generateOnce(engine, prompt(48), { seed: 3, maxTokens: 4, stopIds: [] });
    sameSpans(found, await fresh(model, prompt(48), 3, 4));
  }
  assert.equal((await engine.stats()).numReused, 40);
});

test("changed weights leave nothing to be found (law 6)", async () => {
  await using own = await model.clone();
  await using trainer = await Trainer.open(own);
  await using engine = await Engine.open(own, { blockTokens });
  await generateOnce(engine, prompt(50), { seed: 1, maxTokens: 5, stopIds: [] });
  const rows = Int32Array.from({ length: 29 }, (_, i) => i);
  await trainer.accumulate([{ tokens: prompt(30, 9), rows, weights: new Float32Array(29).fill(1) }]);
  await trainer.step({ learningRate: 0.02 });
  const after = await generateOnce(engine, prompt(50), { seed: 1, maxTokens: 5, stopIds: [] });
  assert.equal((await engine.stats()).numReused, 0);
  sameSpans(after, { ...(await fresh(own, prompt(50), 1, 5)), weightsVersion: own.weightsVersion });
});

test("when room is needed, what was not used for longest goes first", async () => {
  // Each prompt leaves 5 blocks; 3 prompts fit.
  await using engine = await Engine.open(model, { blockTokens, numBlocks: 17 });
  const ask = (salt: number) =>
    generateOnce(engine, prompt(41, salt), { seed: 0, maxTokens: 1, stopIds: [] });
  for (const salt of [1, 2, 3]) await ask(salt);
  await ask(1);
  await ask(4);
  const { numReused } = await engine.stats();
  assert.equal(numReused, 40);
  await ask(1);
  assert.equal((await engine.stats()).numReused, 80);
  // The fourth took the ends of the second prompt, whose beginning is found.
  await ask(2);
  assert.equal((await engine.stats()).numReused, 88);
});

for (const [dtype, size] of [
  ["float32", 4],
  ["bfloat16", 16],
] as const) {
  test(`whatever was said, cut off, branched and scored before, every answer is that of an engine without a past, in ${dtype}`, async () => {
    await using own = await tinyModel({ dtype });
    for (const numBlocks of [128 / size, 800 / size]) {
      await using engine = await Engine.open(own, { blockTokens: size, numBlocks, maxBatchTokens: 24 });
      const check = async (round: number): Promise<void> => {
        // Of its own, so that nobody else decides what it does; the seeds lie far apart.
        const below = dice(round * 0x9e3779b1);
        const sequence = engine.open(prompt(1 + below(50), below(2)), { seed: round });
        const fork = below(2) === 0 ? sequence.fork({ seed: round }) : undefined;
        for (let turn = 0; turn < 3; turn += 1) {
          const { tokens } = sequence;
          const maxTokens = 1 + below(12);
          const span = await sequence.generate({ maxTokens, stopIds: [] });
          sameSpans(span, await fresh(own, tokens, round, maxTokens));
          if (below(2) === 0) sequence.truncate(1 + below(sequence.length));
          if (below(2) === 0) sequence.append(prompt(1 + below(9), below(2)));
          const given = prompt(1 + below(20), below(2));
          const { logprobs } = await sequence.score(given);
          const whole = await own.scoreLogprobs(Int32Array.of(...sequence.tokens, ...given));
          assert.deepEqual([...logprobs], [...whole.slice(-given.length)]);
        }
        if (fork !== undefined) {
          const { tokens } = fork;
          sameSpans(await fork.generate({ maxTokens: 6, stopIds: [] }), await fresh(own, tokens, round, 6));
          fork.close();
        }
        sequence.close();
      };
      for (let round = 0; round < 8; round += 1)
        await Promise.all([0, 1, 2].map((each) => check(round * 3 + each)));
      const { numReused, numUsedBlocks } = await engine.stats();
      // How many depends on which of three sequences comes first.
      assert.ok(numReused > 0);
      assert.equal(numUsedBlocks, 0);
    }
  });
}

test("a span says how many of its tokens were there before: a new prompt none, a second turn its whole blocks", async () => {
  await using engine = await Engine.open(model, { blockTokens });
  const options = { maxTokens: 20, stopIds: [] };
  using first = engine.open(prompt(40), { seed: 1 });
  const { ids, numReused } = await first.generate(options);
  assert.equal(numReused, 0);
  using second = engine.open(Int32Array.of(...prompt(40), ...ids, ...prompt(12, 1)), { seed: 2 });
  for await (const chunk of second.stream(options)) assert.equal(chunk.numReused, 56);
  // What a sequence has of its own is there but for its last token.
  first.append(prompt(5, 2));
  assert.equal((await first.generate(options)).numReused, 59);
  assert.equal((await engine.stats()).numReused, 56);
});

test("what a fork waits for was not there before, what it finds was", async () => {
  await using engine = await Engine.open(model, { blockTokens });
  const options = { maxTokens: 3, stopIds: [] };
  using origin = engine.open(prompt(41), { seed: 1 });
  using first = origin.fork({ seed: 1 });
  assert.equal((await first.generate(options)).numReused, 0);
  using later = origin.fork({ seed: 2 });
  assert.equal((await later.generate(options)).numReused, 40);
  using other = engine.open(Int32Array.of(...prompt(41), ...prompt(9, 7)), { seed: 1 });
  using behind = other.fork({ seed: 3 });
  assert.equal((await behind.generate(options)).numReused, 40);
});

test("what is computed again for want of room is not told as having been there", async () => {
  await using engine = await Engine.open(model, { blockTokens, numBlocks: 12 });
  const sequences = [0, 1, 2].map((salt) => engine.open(prompt(20, salt), { seed: salt }));
  const spans = await Promise.all(sequences.map((each) => each.generate({ maxTokens: 50, stopIds: [] })));
  assert.ok((await engine.stats()).numPreemptions > 0);
  assert.deepEqual(
    spans.map(({ numReused }) => numReused),
    [0, 0, 0],
  );
  for (const each of sequences) each.close();
});
