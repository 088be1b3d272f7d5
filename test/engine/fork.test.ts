/** Forks share what is cached and then go their own ways. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Model } from "../../lib/model/model.ts";
import { generateOnce, prompt, sameSpans, tinyModel } from "./models.ts";

let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model, { blockTokens: 8 });
});

after(async () => {
  await engine.close();
  model.close();
});

test("a group reads its prompt once and shares its blocks", async () => {
  await using fresh = await Engine.open(model, { blockTokens: 8 });
  const root = fresh.open(prompt(83), { seed: 0 });
  const group = [root, ...[1, 2, 3, 4].map((seed) => root.fork({ seed }))];
  const spans = await Promise.all(group.map((each) => each.generate({ maxTokens: 5 })));
  const { numPrefilled, numGenerated, numUsedBlocks } = await fresh.stats();
  assert.equal(numGenerated, 25);
  assert.equal(numPrefilled, 82);
  // 10 full blocks of the prompt, and for each member a tail of 3 prompt tokens and 4 of its own.
  assert.equal(numUsedBlocks, 10 + 5);
  for (const [seed, span] of spans.entries()) {
    sameSpans(await generateOnce(engine, prompt(83), { maxTokens: 5, seed }), span);
  }
});

test("a fork of a conversation continues like the original would with its seed", async () => {
  const root = engine.open(prompt(20), { seed: 9 });
  await root.generate({ maxTokens: 6 });
  root.append(prompt(7, 2));
  const twin = root.fork({ seed: 9 });
  const other = root.fork({ seed: 10 });
  const [first, second, third] = await Promise.all(
    [root, twin, other].map((each) => each.generate({ maxTokens: 20 })),
  );
  sameSpans(second, first);
  assert.notDeepEqual(third, first);
  assert.equal(other.length, root.length);
  for (const each of [root, twin, other]) each.close();
});

test("forks outlive the sequence they came from", async () => {
  await using fresh = await Engine.open(model, { blockTokens: 8 });
  const root = fresh.open(prompt(50), { seed: 0 });
  const forks = [1, 2, 3].map((seed) => root.fork({ seed }));
  root.close();
  const spans = await Promise.all(forks.map((each) => each.generate({ maxTokens: 4 })));
  assert.equal((await fresh.stats()).numPrefilled, 49);
  for (const [i, span] of spans.entries()) {
    sameSpans(await generateOnce(engine, prompt(50), { maxTokens: 4, seed: i + 1 }), span);
  }
  for (const each of forks) each.close();
  const { numUsedBlocks, numSequences } = await fresh.stats();
  assert.equal(numUsedBlocks, 0);
  assert.equal(numSequences, 0);
});

test("forks of forks share too, and closed ones in between are no obstacle", async () => {
  await using fresh = await Engine.open(model, { blockTokens: 8 });
  const root = fresh.open(prompt(40), { seed: 0 });
  const middle = root.fork({ seed: 1 });
  const last = middle.fork({ seed: 2 });
  middle.close();
  const span = await last.generate({ maxTokens: 4 });
  sameSpans(await generateOnce(engine, prompt(40), { maxTokens: 4, seed: 2 }), span);
  root.close();
  last.close();
  assert.equal((await fresh.stats()).numUsedBlocks, 0);
});

test("groups in a pool too small for sharing to last still get the same results", async () => {
  const groups = async (on: Engine) => {
    const roots = [0, 1, 2, 3].map((salt) => on.open(prompt(30, salt), { seed: salt }));
    const members = roots.flatMap((root) => [root, ...[1, 2, 3].map((seed) => root.fork({ seed }))]);
    const spans = await Promise.all(members.map((each) => each.generate({ maxTokens: 12 })));
    for (const each of members) each.close();
    return spans;
  };
  await using small = await Engine.open(model, { numBlocks: 14, blockTokens: 4 });
  sameSpans(await groups(small), await groups(engine));
  const { numPreemptions, numUsedBlocks } = await small.stats();
  assert.ok(numPreemptions > 0);
  assert.equal(numUsedBlocks, 0);
});
