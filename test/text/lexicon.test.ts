/** Words and terms: the rules, and that native cutting gives what the rules give. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { PassageStore, writePassageStore } from "../../lib/search/corpus/passage-store.ts";
import { meaningOf, termsOf, wordsOf } from "../../lib/text/analysis/words.ts";
import { cutBatches, cutTexts } from "../../lib/text/words/lexicon.ts";
import { randomFrom } from "../dice.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-lexicon-"));
after(() => rm(folder, { recursive: true }));

async function assertSameWords(texts: readonly string[]): Promise<void> {
  using cut = await cutTexts(texts);
  const words = cut.words();
  for (const [i, text] of texts.entries())
    assert.deepEqual(words[i], wordsOf(text).join(" "), JSON.stringify(text));
}

/** Characters that meet folding's corners: case, marks, apostrophes, widths, separators in and outside of ASCII. */
const corners =
  "Σσςß İıiI'’‘`^.:_-–—…‥·„“ aAée\u0301\u0308\u0327ﬁ½№™㎏①ａＡ，、。・가각\u1100\u1161日本ー゛ﾞकि\u200d\u200bﷺ\u037a\u00a8\u2017\ufffd\n\t09٣";

test("words are folded: case, accents and apostrophes do not matter", () => {
  assert.deepEqual(wordsOf("L'Été, in São-Paulo's 2nd ward"), ["lete", "in", "sao", "paulos", "2nd", "ward"]);
  assert.deepEqual(wordsOf("ΟΔΟΣ οδος 東京 №5"), ["οδοσ", "οδοσ", "東京", "no5"]);
  assert.deepEqual(wordsOf(" -- "), []);
});

test("terms drop stop words and endings", () => {
  assert.deepEqual(termsOf("Who was running for the presidencies?"), ["run", "presid"]);
  assert.deepEqual(meaningOf("the of and").terms, []);
});

test("characters of all planes, between letters and between words, are cut as wordsOf cuts them", async () => {
  const texts: string[] = [];
  for (let first = 0; first < 0x110000; first += 64) {
    // All below U+3100 and of the compatibility forms; of ideographs and the like, which are all alike, one in 64.
    const isRich =
      first < 0x3100 || (first >= 0xf900 && first < 0x10000) || (first >= 0x1d400 && first < 0x1d800);
    const characters = Array.from({ length: isRich ? 64 : 1 }, (_, i) => String.fromCodePoint(first + i));
    texts.push(
      characters.map((c) => `Σ${c}Aé${c}`).join(" "),
      characters.map((c) => `x ${c}${c}\u0301-${c}'`).join("."),
    );
  }
  await assertSameWords(texts);
});

test("random texts of difficult characters are cut as wordsOf cuts them", async () => {
  const random = randomFrom(5);
  const list = [...corners];
  const text = (): string =>
    Array.from({ length: 1 + Math.floor(random() * 60) }, () =>
      random() < 0.8
        ? (list[Math.floor(random() * list.length)] ?? "")
        : String.fromCodePoint(Math.floor(random() * 0x3000)),
    ).join("");
  for (let round = 0; round < 40; round += 1) await assertSameWords(Array.from({ length: 250 }, text));
});

test("texts cut at the same time know each other's tokens", async () => {
  const texts = Array.from({ length: 300 }, (_, i) => `token${i % 90} shared word${i % 7}`);
  await Promise.all(Array.from({ length: 8 }, () => assertSameWords(texts)));
  await assertSameWords([]);
  await assertSameWords(["", " ", "..."]);
});

test("passages of a store are cut as title and text on two lines", async () => {
  const passages = [
    { id: "a", title: "Élan", text: "vital, 1907" },
    { id: "b", title: "", text: "no title" },
    { id: "c", title: "no text", text: "" },
  ];
  const path = join(folder, "passages.bin");
  await writePassageStore(path, passages);
  const store = await PassageStore.open(path);
  using cut = await cutTexts({ store, first: 1, count: 2 });
  assert.deepEqual(cut.words(), ["no title", "no text"]);
  using all = await cutTexts({ store, first: 0, count: 3 });
  assert.deepEqual(all.words()[0], "elan vital 1907");
  await assert.rejects(cutTexts({ store, first: 2, count: 2 }), { code: "ERR_RANGE" });
  store.close();
  await assert.rejects(cutTexts({ store, first: 0, count: 1 }), { code: "ERR_STATE" });
});

const oracle = sharedData("tokenizer-oracles/texts.json");

test("1,862 real texts in five scripts are cut as wordsOf cuts them", { skip: skipWithoutData }, async () => {
  await assertSameWords(JSON.parse(readFileSync(oracle, "utf8")) as string[]);
});

test("a corpus is cut in batches, from any source, until the signal fires", async () => {
  const texts = Array.from({ length: 2500 }, (_, i) => `text number ${i}`);
  const path = join(folder, "many.bin");
  await writePassageStore(
    path,
    texts.map((text, i) => ({ id: String(i), title: "", text })),
  );
  const store = await PassageStore.open(path);
  async function* later(): AsyncGenerator<string> {
    yield* texts;
  }
  for (const stream of [texts, later(), { store, first: 0, count: 2500 }]) {
    const words: string[] = [];
    for await (const cut of cutBatches(stream)) words.push(...cut.words());
    assert.deepEqual(words, texts);
  }
  const stop = new AbortController();
  const cutting = (async () => {
    for await (const _ of cutBatches(texts, { signal: stop.signal })) stop.abort();
  })();
  await assert.rejects(cutting, { code: "ERR_ABORTED" });
  store.close();
});

test("others have their turn between long texts whose words nobody has met", async () => {
  const texts = Array.from({ length: 20 }, (_, i) => `${i}a${"\u0301\u0316".repeat(5000)}`);
  let [numTurns, isDone] = [0, false];
  const others = (): void => {
    numTurns += 1;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  (await cutTexts(texts))[Symbol.dispose]();
  isDone = true;
  assert.ok(numTurns >= 8, `${numTurns} turns`);
});
