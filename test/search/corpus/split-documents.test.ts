/** Documents cut into passages: the published split to the byte, and what each way of cutting promises. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Document } from "../../../lib/search/corpus/document.ts";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { readDocuments } from "../../../lib/search/corpus/read-documents.ts";
import { type SplitOptions, splitDocuments } from "../../../lib/search/corpus/split-documents.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../../project.ts";
import { sharedData, skipWithoutData } from "../../shared-data.ts";
import { goldenText } from "../../text/fixtures.ts";

async function passagesOf(
  documents: Iterable<Document> | AsyncIterable<Document>,
  options?: SplitOptions,
): Promise<Passage[]> {
  const list: Passage[] = [];
  for await (const passage of splitDocuments(documents, options)) list.push(passage);
  return list;
}

const textsOf = async (text: string, options: SplitOptions): Promise<string[]> =>
  (await passagesOf([{ id: "d", title: "T", text }], options)).map((passage) => passage.text);

const tableOf = (passages: readonly Passage[]): string =>
  passages.map(({ id, title, text }) => `${id}\t${title}   ${text}\n`).join("");

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

/** Paragraphs of one to nine sentences of one to thirty words. */
function story(numParagraphs: number): string {
  const sentence = (i: number): string =>
    `${Array.from({ length: 1 + (i % 30) }, (_, w) => `Word${i + w}`).join(" ")}.`;
  const paragraph = (i: number): string =>
    Array.from({ length: 1 + (i % 9) }, (_, s) => sentence(7 * i + 5 * s)).join(" ");
  return Array.from({ length: numParagraphs }, (_, i) => paragraph(i)).join("\n\n");
}

test("KILT's pages become the published 100-word split, byte for byte", async () => {
  const golden = join(projectRoot, "test", "golden", "corpus");
  const passages = await passagesOf(readDocuments(join(golden, "kilt.jsonl")), { ids: "running" });
  assert.equal(tableOf(passages), await readFile(join(golden, "kilt.tsv"), "utf8"));
});

test("RAG-R1's own sample of KILT becomes its own split", {
  skip: skipWithoutData,
}, async () => {
  const folder = sharedData("corpora", "kilt");
  const pages = readDocuments(join(folder, "filtered_kilt_sample_100.jsonl"));
  const table = tableOf(await passagesOf(pages, { ids: "running" }));
  // The published sample ends within a line.
  const published = await readFile(join(folder, "train_kilt_full_page_sample_100.tsv"), "utf8");
  assert.equal(table.slice(0, published.length), published);
});

test("passages are named by document and number, carry its title, and blank documents have none", async () => {
  const documents = [
    { id: "a", title: "A", text: " one two  three\nfour five " },
    { id: "b", title: "B", text: " \n " },
    { id: "c", title: "", text: "six" },
  ];
  assert.deepEqual(await passagesOf(documents, { size: 2 }), [
    { id: "a-0", title: "A", text: "one two" },
    { id: "a-1", title: "A", text: "three four" },
    { id: "a-2", title: "A", text: "five" },
    { id: "c-0", title: "", text: "six" },
  ]);
});

test("words overlap by as many as are asked for, and the last passage repeats no more than that", async () => {
  assert.deepEqual(await textsOf("1 2 3 4 5 6 7", { size: 3, overlap: 1 }), ["1 2 3", "3 4 5", "5 6 7"]);
  assert.deepEqual(await textsOf("1 2 3 4 5 6 7 8", { size: 3, overlap: 1 }), [
    "1 2 3",
    "3 4 5",
    "5 6 7",
    "7 8",
  ]);
});

test("sentences stay whole and add up to the text", async () => {
  const text = story(12);
  const all = (await textsOf(text, { by: "sentences", size: 1 })).map((sentence) => sentence.trim());
  assert.deepEqual(all.flatMap(wordsOf), wordsOf(text));
  assert.ok(all.every((sentence) => sentence.endsWith(".")));
  const pieces = await textsOf(text, { by: "sentences", size: 4, overlap: 1 });
  for (const [i, piece] of pieces.entries()) {
    assert.deepEqual(wordsOf(piece), all.slice(3 * i, 3 * i + 4).flatMap(wordsOf));
    assert.ok(text.includes(piece));
  }
  assert.equal(3 * (pieces.length - 1) + 4 >= all.length, true);
});

test("paragraphs stay whole where they fit, then sentences, and no passage is too long", async () => {
  const text = story(40);
  const size = 60;
  const pieces = await textsOf(text, { by: "paragraphs", size });
  assert.deepEqual(pieces.flatMap(wordsOf), wordsOf(text));
  assert.ok(
    pieces.every((piece) => wordsOf(piece).length <= size && piece.endsWith(".") && text.includes(piece)),
  );
  const fitting = text.split("\n\n").filter((paragraph) => wordsOf(paragraph).length <= size);
  assert.ok(fitting.length > 5);
  for (const paragraph of fitting) assert.ok(pieces.some((piece) => piece.includes(paragraph)));
  const endless = "word ".repeat(150).trim();
  assert.deepEqual(
    (await textsOf(endless, { by: "paragraphs", size })).map((piece) => wordsOf(piece).length),
    [60, 60, 30],
  );
});

for (const name of ["byte-level", "word-piece", "unigram", "bpe.model"]) {
  test(`passages by tokens of ${name} hold whole words and no more tokens than are asked for`, async () => {
    const tokenizer = await Tokenizer.load(join(goldenText, name));
    const text = story(12);
    const count = (piece: string): number => tokenizer.encode(piece, { parseSpecialTokens: false }).length;
    const longest = Math.max(...wordsOf(text).map((word) => count(` ${word}`)));
    for (const size of [64, 200]) {
      const pieces = await textsOf(text, { by: "tokens", size, tokenizer });
      assert.deepEqual(pieces.flatMap(wordsOf), wordsOf(text));
      const counts = pieces.map(count);
      assert.ok(Math.max(...counts) <= size, `${counts}`);
      // Every passage but the last is as full as whole words allow.
      assert.ok(Math.min(...counts.slice(0, -1)) > size - 2 * longest, `${counts}`);
    }
    const overlapping = await textsOf(text, { by: "tokens", size: 100, overlap: 30, tokenizer });
    for (const [i, piece] of overlapping.entries()) {
      const before = overlapping[i - 1];
      if (before === undefined) continue;
      const begin = wordsOf(piece)[0] ?? "";
      assert.ok(wordsOf(before).includes(begin), `${begin} is repeated`);
    }
  });
}

test("a text without blanks is cut inside, between characters", async () => {
  const tokenizer = await Tokenizer.load(join(goldenText, "byte-level"));
  const text = "字😀".repeat(300);
  const pieces = await textsOf(text, { by: "tokens", size: 50, tokenizer });
  assert.equal(pieces.join(""), text);
  assert.ok(pieces.every((piece) => piece.isWellFormed() && tokenizer.encode(piece).length <= 50));
});

test("sizes that cannot be are an ERR_RANGE, tokens without a tokenizer an ERR_ARGUMENT", async () => {
  for (const options of [{ size: 0 }, { size: 1.5 }, { size: 5, overlap: 5 }, { overlap: -1 }])
    await assert.rejects(textsOf("a", options), { code: "ERR_RANGE" });
  await assert.rejects(textsOf("a", { by: "tokens" }), { code: "ERR_ARGUMENT" });
  await assert.rejects(textsOf("a", { signal: AbortSignal.abort() }), { code: "ERR_ABORTED" });
});
