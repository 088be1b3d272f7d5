/** A sequence that forgets its last tokens goes on as if they had never been. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Sequence } from "../../lib/engine/sequence.ts";
import type { Model } from "../../lib/model/model.ts";
import { dice } from "../dice.ts";
import { generateOnce, prompt, sameSpans, tinyModel } from "./models.ts";

const blockTokens = 8;
let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model, { blockTokens });
});

after(async () => {
  await engine.close();
  model.close();
});

/** What a new sequence of the same tokens generates. */
function fresh(tokens: Int32Array, seed: number) {
  return generateOnce(engine, tokens, { maxTokens: 20, seed, entropies: true });
}

test("after a cut at any place it generates, bit for bit, what a new sequence of the same tokens does", async () => {
  for (const [i, length] of [1, 7, 8, 9, 16, 17, 30, 41, 49, 50].entries()) {
    const sequence = engine.open(prompt(41), { seed: 3 });
    await sequence.generate({ maxTokens: 9 });
    const kept = sequence.tokens.slice(0, length);
    sequence.truncate(length);
    assert.deepEqual([sequence.length, sequence.tokens], [length, kept]);
    const added = prompt(i % 3 === 0 ? 0 : 5, i);
    sequence.append(added);
    const tokens = Int32Array.from([...kept, ...added]);
    const span = await sequence.generate({ maxTokens: 20, entropies: true });
    sameSpans(span, await fresh(tokens, 3));
    sequence.close();
  }
});

test("blocks that held nothing else are given back, and only what is new is computed", async () => {
  await using own = await Engine.open(model, { blockTokens });
  const sequence = own.open(prompt(40), { seed: 1 });
  await sequence.generate({ maxTokens: 25, stopIds: [] });
  assert.equal((await own.stats()).numUsedBlocks, 8);
  sequence.truncate(20);
  // Of 20 tokens 19 stay cached: the last gives the next logits.
  assert.equal((await own.stats()).numUsedBlocks, 3);
  const before = (await own.stats()).numPrefilled;
  sequence.append(prompt(6, 2));
  await sequence.generate({ maxTokens: 1 });
  assert.equal((await own.stats()).numPrefilled - before, 6);
  sequence.truncate(0);
  assert.equal((await own.stats()).numUsedBlocks, 0);
  await assert.rejects(sequence.generate({ maxTokens: 1 }), { code: "ERR_RANGE" });
  sequence.append(prompt(5));
  sameSpans(await sequence.generate({ maxTokens: 20, entropies: true }), await fresh(prompt(5), 1));
});

test("forks keep what the cut takes from their parent, cached or not", async () => {
  for (const isCached of [true, false]) {
    const root = engine.open(prompt(40), { seed: 1 });
    if (isCached) await root.generate({ maxTokens: 7, stopIds: [] });
    const tokens = root.tokens;
    const forks = [2, 3].map((seed) => root.fork({ seed }));
    root.truncate(13);
    root.append(prompt(30, 4));
    const spans = await Promise.all(
      [root, ...forks].map((each) => each.generate({ maxTokens: 20, entropies: true })),
    );
    const changed = Int32Array.from([...tokens.slice(0, 13), ...prompt(30, 4)]);
    sameSpans(spans[0], await fresh(changed, 1));
    sameSpans(spans[1], await fresh(tokens, 2));
    sameSpans(spans[2], await fresh(tokens, 3));
    for (const each of [root, ...forks]) each.close();
  }
});

test("a fork that forgets leaves its parent and its siblings as they are", async () => {
  const root = engine.open(prompt(40), { seed: 1 });
  const forks = [2, 3, 4].map((seed) => root.fork({ seed }));
  forks[0]!.truncate(21);
  forks[0]!.append(prompt(9, 5));
  await forks[1]!.generate({ maxTokens: 3, stopIds: [] });
  forks[1]!.truncate(38);
  forks[2]!.truncate(1);
  const spans = await Promise.all(
    [root, ...forks].map((each) => each.generate({ maxTokens: 20, entropies: true })),
  );
  const expected = [
    prompt(40),
    Int32Array.from([...prompt(40).slice(0, 21), ...prompt(9, 5)]),
    prompt(40).slice(0, 38),
    prompt(40).slice(0, 1),
  ];
  for (const [i, tokens] of expected.entries()) sameSpans(spans[i], await fresh(tokens, i + 1));
  for (const each of [root, ...forks]) each.close();
  assert.equal((await engine.stats()).numUsedBlocks, 0);
});

test("random cuts, additions and forks in a small pool give what new sequences give", async () => {
  const below = dice(17);
  await using small = await Engine.open(model, { blockTokens: 4, numBlocks: 40, maxBatchTokens: 37 });
  let open: { sequence: Sequence; seed: number }[] = [
    { sequence: small.open(prompt(30), { seed: 0 }), seed: 0 },
  ];
  for (let round = 0; round < 40; round += 1) {
    for (const { sequence } of open) {
      if (below(2) === 0) sequence.truncate(1 + below(sequence.length));
      if (below(2) === 0 && sequence.length < 60) sequence.append(prompt(1 + below(20), round));
    }
    const { sequence } = open[below(open.length)]!;
    if (open.length < 5) open.push({ sequence: sequence.fork({ seed: round }), seed: round });
    const playing = open.filter(() => below(3) > 0);
    await Promise.all(
      playing.map(async ({ sequence, seed }) => {
        const tokens = sequence.tokens;
        const numTokens = 1 + below(12);
        const span = await sequence.generate({ maxTokens: numTokens });
        sameSpans(span, await generateOnce(engine, tokens, { maxTokens: numTokens, seed }));
      }),
    );
    const closing = below(4) === 0 && open.length > 1 ? below(open.length) : -1;
    open[closing]?.sequence.close();
    open = open.filter((_, i) => i !== closing);
  }
  for (const { sequence } of open) sequence.close();
  assert.ok((await small.stats()).numPreemptions > 0);
  assert.equal((await small.stats()).numUsedBlocks, 0);
});

test("another seed makes the draws after a cut independent of the forgotten ones", async () => {
  const sequence = engine.open(prompt(20), { seed: 1 });
  const first = await sequence.generate({ maxTokens: 20, temperature: 3 });
  sequence.truncate(20);
  const again = await sequence.generate({ maxTokens: 20, temperature: 3 });
  sequence.truncate(20, { seed: 2 });
  const other = await sequence.generate({ maxTokens: 20, temperature: 3 });
  sameSpans(again, first);
  assert.notDeepEqual(other.ids, first.ids);
  sameSpans(other, await generateOnce(engine, prompt(20), { maxTokens: 20, temperature: 3, seed: 2 }));
  sequence.close();
});

test("a cut is refused while the sequence generates, once it is closed, and out of range", async () => {
  const sequence = engine.open(prompt(20));
  for (const length of [-1, 21, 1.5, Number.NaN]) {
    assert.throws(() => sequence.truncate(length), { code: "ERR_RANGE" });
  }
  assert.throws(() => sequence.truncate(3, { seed: -1 }), { code: "ERR_RANGE" });
  const span = sequence.generate({ maxTokens: 5 });
  assert.throws(() => sequence.truncate(3), { code: "ERR_STATE", message: /while it generates/ });
  await span;
  sequence.close();
  assert.throws(() => sequence.truncate(3), { code: "ERR_STATE", message: /after close/ });
});
