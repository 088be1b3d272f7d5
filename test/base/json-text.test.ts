/** JSON that is written in slices is what JSON.stringify writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonBlocks, jsonText, valueOfBlocks } from "../../lib/base/slices/json-text.ts";
import { randomFrom } from "../dice.ts";

const leaves = [
  0,
  -0,
  1.5e300,
  true,
  false,
  null,
  "",
  'é\u0000"\\😀',
  "x".repeat(40_000),
  new Date(0),
  undefined,
];

function anyValue(random: () => number, depth: number): unknown {
  const length = Math.floor(random() * 6);
  const kind = depth === 0 ? 0 : Math.floor(random() * 3);
  if (kind === 0) return leaves[Math.floor(random() * leaves.length)];
  const items = Array.from({ length }, () => anyValue(random, depth - 1));
  return kind === 1 ? items : Object.fromEntries(items.map((item, i) => [`k"${i}`, item]));
}

test("values of all shapes are written as JSON.stringify writes them, in one text or in blocks", async () => {
  const random = randomFrom(3);
  for (let i = 0; i < 300; i += 1) {
    const value = [anyValue(random, 5)];
    const expected = JSON.stringify(value);
    assert.equal(await jsonText(value), expected);
    assert.equal(Buffer.concat(await jsonBlocks(value)).toString(), expected);
    assert.deepEqual(valueOfBlocks(await jsonBlocks(value)), JSON.parse(expected));
    assert.equal(await jsonText(value, expected.length - 1), undefined);
  }
});

test("a number that JSON has no form for is refused by its name", async () => {
  const wrong = { code: "ERR_ARGUMENT", message: '"a": expected a number of JSON, got Infinity' };
  await assert.rejects(jsonText({ a: Number.POSITIVE_INFINITY }), wrong);
  await assert.rejects(jsonBlocks([{ a: Number.POSITIVE_INFINITY }]), wrong);
});

test("values may stand deeper than calls can be nested, and others have their turn", async () => {
  let deep: unknown = Array.from({ length: 100_000 }, () => 1);
  for (let i = 0; i < 100_000; i += 1) deep = [deep];
  let numTurns = 0;
  const timer = setInterval(() => {
    numTurns += 1;
  }, 0);
  const text = await jsonText(deep);
  clearInterval(timer);
  assert.equal(text?.length, 2 * 100_000 + (2 * 100_000 + 1));
  assert.ok(numTurns > 0);
});
