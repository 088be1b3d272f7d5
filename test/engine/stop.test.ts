/** Where a span ends. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { TokenTable } from "../../lib/engine/vocabulary.ts";
import type { Model } from "../../lib/model/model.ts";
import { generateOnce, letters, prompt, spell, tinyModel } from "./models.ts";

let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model, { tokenizer: letters });
});

after(async () => {
  await engine.close();
  model.close();
});

const start = prompt(10);

/** What the model writes when nothing stops it. */
async function freely(seed = 3): Promise<{ ids: Int32Array; text: string }> {
  const { ids } = await generateOnce(engine, start, { maxTokens: 40, seed, stopIds: [] });
  return { ids, text: spell(ids) };
}

test("a span has maxTokens tokens when nothing else stops it", async () => {
  const span = await generateOnce(engine, start, { maxTokens: 17, stopIds: [] });
  assert.equal(span.ids.length, 17);
  assert.equal(span.stop, "length");
});

test("a stop string ends the span with the token that completes it, across token borders", async () => {
  const { ids, text } = await freely();
  const stopText = text.slice(8, 13);
  const at = text.indexOf(stopText) + stopText.length;
  const span = await generateOnce(engine, start, { maxTokens: 40, seed: 3, stop: ["~~~", stopText] });
  assert.deepEqual(span.ids, ids.slice(0, at));
  assert.equal(span.stop, "stop");
  assert.equal(span.stopText, stopText);
  assert.equal(span.cutBytes, 0);
});

test("the longer of two stop strings that end together is reported", async () => {
  const { text } = await freely();
  const stop = [text.slice(11, 13), text.slice(9, 13), text.slice(10, 13)];
  const first = Math.min(...stop.map((each) => text.indexOf(each) + each.length));
  const span = await generateOnce(engine, start, { maxTokens: 40, seed: 3, stop });
  assert.equal(span.ids.length, first);
  if (first === 13) assert.equal(span.stopText, stop[1]);
});

test("a token that goes on after the stop string is kept and its extra bytes are counted", async () => {
  // Each token stands for its letter between two marks, so a letter never ends a token.
  const wide: TokenTable = {
    ...letters,
    tokenBytes: (id) => Buffer.from(`<${spell([id])}>`, "latin1"),
  };
  await using marked = await Engine.open(model, { tokenizer: wide });
  const { ids, text } = await freely();
  const stopText = `${text[5]}><${text[6]}`;
  const at = text.indexOf(text.slice(5, 7)) + 2;
  const span = await generateOnce(marked, start, { maxTokens: 40, seed: 3, stop: [stopText], stopIds: [] });
  assert.deepEqual(span.ids, ids.slice(0, at));
  assert.equal(span.stopText, stopText);
  assert.equal(span.cutBytes, 1);
});

test("stop strings are matched over bytes, inside characters of several bytes too", async () => {
  // Even tokens are the first byte of é, odd ones the second.
  const halves: TokenTable = {
    vocabSize: 97,
    eosIds: [],
    tokenBytes: (id) => Uint8Array.of(id % 2 === 0 ? 0xc3 : 0xa9),
    isSpecial: () => false,
  };
  await using bytewise = await Engine.open(model, { tokenizer: halves });
  const { ids } = await freely();
  const at = ids.findIndex((id, i) => i > 0 && id % 2 === 1 && (ids[i - 1] ?? 1) % 2 === 0);
  const span = await generateOnce(bytewise, start, { maxTokens: 40, seed: 3, stop: ["é"] });
  assert.deepEqual(span.ids, ids.slice(0, at + 1));
});

test("a stop string is not looked for in the prompt or in an earlier span", async () => {
  const sequence = engine.open(start, { seed: 3 });
  const { text } = await freely();
  await sequence.generate({ maxTokens: 4, stopIds: [] });
  const acrossSpans = text.slice(3, 5);
  const span = await sequence.generate({ maxTokens: 1, stop: [acrossSpans], stopIds: [] });
  assert.equal(span.stop, "length");
  sequence.close();
});

test("the tokenizer's end of text stops by default, other ids on request", async () => {
  const { ids } = await freely();
  const chosen = ids[7] ?? 0;
  const span = await generateOnce(engine, start, { maxTokens: 40, seed: 3, stopIds: [chosen] });
  assert.deepEqual(span.ids, ids.slice(0, ids.indexOf(chosen) + 1));
  assert.equal(span.stop, "stop");
  await using eager = await Engine.open(model, { tokenizer: { ...letters, eosIds: [chosen] } });
  const byDefault = await generateOnce(eager, start, { maxTokens: 40, seed: 3 });
  assert.deepEqual(byDefault.ids, span.ids);
  assert.equal(byDefault.stop, "eos");
});

test("a sequence ends with length at the longest context of the model", async () => {
  const short = await tinyModel({ maxPosition: 20 });
  await using bounded = await Engine.open(short);
  const sequence = bounded.open(prompt(15), { seed: 0 });
  const span = await sequence.generate({ maxTokens: 100 });
  assert.equal(span.stop, "length");
  assert.equal(sequence.length, 20);
  await assert.rejects(sequence.generate({ maxTokens: 1 }), { code: "ERR_RANGE" });
});

test("stop strings without a tokenizer are refused", async () => {
  await using bare = await Engine.open(model);
  await assert.rejects(generateOnce(bare, start, { maxTokens: 3, stop: ["x"] }), { code: "ERR_ARGUMENT" });
  await assert.rejects(generateOnce(engine, start, { maxTokens: 3, stop: [""] }), { code: "ERR_ARGUMENT" });
});
