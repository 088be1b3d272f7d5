/** Duplicates, empty and over-long passages against a plain count. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { PassageStore, writePassageStore } from "../../../lib/search/corpus/passage-store.ts";
import { CorpusCounter, reportLines, reportOf } from "../../../lib/search/corpus/report.ts";
import { randomFrom } from "../../dice.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-report-"));
after(() => rm(folder, { recursive: true }));

const passageOf = (text: string, i: number): Passage => ({ id: `p${i}`, title: "", text });

async function reportOfTexts(texts: readonly string[], maxWords = 350) {
  const path = join(folder, "passages.bin");
  await writePassageStore(path, texts.map(passageOf));
  const store = await PassageStore.open(path);
  try {
    return await reportOf(store, { maxWords, numExamples: 3 });
  } finally {
    store.close();
  }
}

test("texts that differ in blanks and the case of A to Z are the same, others are not", async () => {
  const report = await reportOfTexts([
    "Ada wrote",
    " ada\n WROTE ",
    "ada wrot e",
    "Ärger",
    "ärger",
    "adawrote",
    "ADA WROTE",
  ]);
  assert.equal(report.numDuplicates, 2);
  assert.deepEqual(report.duplicates, [
    { first: 0, again: 1 },
    { first: 0, again: 6 },
  ]);
});

test("counts are those of a plain count, from a store or as passages come", async () => {
  const random = randomFrom(3);
  const texts = Array.from({ length: 20_000 }, () =>
    Array.from({ length: Math.floor(random() * 6) }, () => `w${Math.floor(random() * 8)}`).join(" "),
  );
  const seen = new Map<string, number>();
  const duplicates: { first: number; again: number }[] = [];
  for (const [again, text] of texts.entries()) {
    const first = seen.get(text);
    if (text === "") continue;
    if (first === undefined) seen.set(text, again);
    else duplicates.push({ first, again });
  }
  const numbersOf = (isOdd: (words: string[]) => boolean): number[] =>
    texts.flatMap((text, i) => (isOdd(text.split(" ").filter(Boolean)) ? [i] : []));
  const empty = numbersOf((words) => words.length === 0);
  const overLong = numbersOf((words) => words.length > 4);
  const expected = {
    numPassages: texts.length,
    numWords: texts.join(" ").split(" ").filter(Boolean).length,
    numLongestWords: 5,
    numEmpty: empty.length,
    empty: empty.slice(0, 3),
    numOverLong: overLong.length,
    overLong: overLong.slice(0, 3),
    maxWords: 4,
    numDuplicates: duplicates.length,
    duplicates: duplicates.slice(0, 3),
  };
  assert.deepEqual(await reportOfTexts(texts, 4), expected);
  const counter = new CorpusCounter({ maxWords: 4, numExamples: 3 });
  for (let at = 0; at < texts.length; at += 777) await counter.add(texts.slice(at, at + 777).map(passageOf));
  assert.deepEqual(await counter.report(), expected);
  counter.close();
  await assert.rejects(counter.report(), { code: "ERR_STATE" });
});

test("a text with NUL is one text, the NUL a blank", async () => {
  const texts = ["a\0b", "a b", "\0", "c"];
  const counter = new CorpusCounter();
  await counter.add(texts.map(passageOf));
  const { numPassages, numDuplicates, numEmpty } = await counter.report();
  counter.close();
  assert.deepEqual([numPassages, numDuplicates, numEmpty], [4, 1, 1]);
  assert.equal((await reportOfTexts(texts)).numDuplicates, 1);
});

test("a report reads as lines with examples", async () => {
  const lines = reportLines(await reportOfTexts(["a b", "", "A B", "a b", "c d e"], 2));
  assert.deepEqual(lines, [
    "passages: 5, of 1.8 words on average, 3 at most",
    "duplicates: 2 (passage 2 = 0, 3 = 0)",
    "empty: 1 (passage 1)",
    "over 2 words: 1 (passage 4)",
  ]);
  assert.throws(() => new CorpusCounter({ maxWords: 0 }), { code: "ERR_RANGE" });
});
