/** Texts that begin alike: the tree they are laid out as, and the micro-batches they are cut into. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { microBatches } from "../../../lib/train/batch/micro-batches.ts";
import { packSequences } from "../../../lib/train/batch/packing.ts";
import { compareTexts, prefixTree, TreeSize } from "../../../lib/train/batch/prefix-tree.ts";
import { noise } from "../tiny.ts";

/** Texts of few different ids, so that many begin alike, some hold others whole, and some are the same. */
const manyTexts = (seed: number, count: number): Int32Array[] =>
  Array.from({ length: count }, (_, i) =>
    Int32Array.from({ length: 1 + Math.floor(noise(seed + i, 0) * 9) }, (_, t) =>
      Math.floor(noise(seed + i, t + 1) * 2),
    ),
  );

/** The truth: how many different beginnings the texts have. */
const numBeginnings = (texts: readonly Int32Array[]): number =>
  new Set(texts.flatMap((text) => Array.from(text, (_, t) => text.slice(0, t + 1).join()))).size;

test("a tree holds each beginning once, and every text along its spans", () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const texts = manyTexts(seed * 100, 1 + (seed % 12));
    const { tokens, starts, parents, places } = prefixTree(texts);
    assert.equal(tokens.length, numBeginnings(texts));
    const spanOf = (place: number): number => starts.findLastIndex((start) => start <= place);
    for (const [i, text] of texts.entries()) {
      assert.deepEqual(
        [...places[i]!].map((place) => tokens[place]),
        [...text],
      );
      for (const [t, place] of places[i]!.entries()) {
        const before = t === 0 ? undefined : places[i]![t - 1]!;
        if (starts.includes(place)) {
          assert.equal(parents[spanOf(place)], before === undefined ? -1 : spanOf(before));
          // A span that another continues is seen to its end.
          if (before !== undefined) assert.ok(starts.includes(before + 1));
        } else assert.equal(place, before! + 1);
      }
    }
  }
});

test("the size of a tree is known before it is laid out", () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const texts = manyTexts(seed * 100, 12).sort(compareTexts);
    const size = new TreeSize();
    for (const own of [texts.slice(3, 7), texts.slice(0, 3), texts.slice(7)]) {
      size.add(own);
    }
    assert.equal(size.numTokens, numBeginnings(texts));
  }
});

const withLastRow = (tokens: Int32Array) => ({ tokens, rows: Int32Array.of(tokens.length - 2) });

test("micro-batches hold every sequence once and stay within the budget", () => {
  const lengths = Array.from({ length: 50 }, (_, i) => 5 + ((i * 37) % 60));
  const sequences = lengths.map((length, i) =>
    withLastRow(Int32Array.from({ length: length + 1 }, (_, t) => Math.floor(noise(i, t) * 1000))),
  );
  const batches = microBatches(sequences, 100);
  assert.deepEqual(
    batches.flat().sort((a, b) => a - b),
    lengths.map((_, i) => i),
  );
  for (const batch of batches) assert.ok(batch.reduce((sum, i) => sum + lengths[i]!, 0) <= 100);
  const total = lengths.reduce((a, b) => a + b);
  assert.ok(batches.length <= Math.ceil(total / 100) + 2);
});

test("the samples of a question share a micro-batch, in which their prompt counts once", () => {
  const sequences = Array.from({ length: 32 }, (_, i) => {
    const prompt = Array.from({ length: 60 }, (_, t) => Math.floor(noise(i % 4, t) * 1000));
    const answer = Array.from({ length: 11 }, (_, t) => Math.floor(noise(100 + i, t) * 1000));
    const rows = Int32Array.from({ length: 11 }, (_, t) => 59 + t);
    return { tokens: Int32Array.of(...prompt, ...answer), rows };
  });
  const batches = microBatches(sequences, 60 + 8 * 10);
  assert.equal(batches.length, 4);
  for (const batch of batches) {
    assert.equal(new Set(batch.map((i) => i % 4)).size, 1);
    assert.equal(packSequences(batch.map((i) => sequences[i]!)).tokens.length, 60 + 8 * 10);
  }
});
