/** BM25 against independent float64 implementations. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readQuestions } from "../../lib/data/question.ts";
import { Bm25Builder, Bm25Index } from "../../lib/search/bm25.ts";
import { indexedText } from "../../lib/search/corpus/passage.ts";
import { readDocuments } from "../../lib/search/corpus/read-documents.ts";
import { meaningOf, termsOf } from "../../lib/text/analysis/words.ts";
import { projectRoot } from "../project.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";
import { built, folder, plainBm25, wordyTexts } from "./plain-bm25.ts";

interface Golden {
  readonly corpus: readonly string[];
  readonly queries: readonly string[];
  /** Per query up to ten [passage, score]. */
  readonly cases: readonly { k1: number; b: number; rankings: readonly (readonly [number, number])[][] }[];
}
const golden = JSON.parse(
  await readFile(join(projectRoot, "test/golden/search/bm25.json"), "utf8"),
) as Golden;

for (const { k1, b, rankings } of golden.cases) {
  test(`rankings and scores are exactly the float64 reference's for k1 ${k1} and b ${b}`, async () => {
    const index = await built(golden.corpus, { k1, b });
    const { ids, scores } = await index.search(golden.queries, { topK: 10 });
    for (const [q, ranking] of rankings.entries()) {
      const found = [...ids.subarray(q * 10, q * 10 + 10)].map((id, i) => [id, scores[q * 10 + i] ?? 0]);
      assert.deepEqual(
        found.filter(([id = -1]) => id >= 0),
        ranking.map(([id, score]) => [id, Math.fround(score)]),
        golden.queries[q],
      );
    }
    index.close();
  });
}

test("a Chinese or Japanese passage is found by words inside of its sentences", async () => {
  const texts = [
    "北京是中华人民共和国的首都。",
    "東京は日本の首都である。",
    "上海位于长江口，是中国最大的城市。",
  ];
  const index = await built(texts);
  const { ids } = await index.search(["日本の首都", "中国最大的城市", "中华人民"], { topK: 1 });
  assert.deepEqual([...ids], [1, 2, 0]);
  index.close();
});

test("an index built in runs on disk is the index built in memory, byte for byte", async () => {
  const corpus = wordyTexts(6000, 9);
  const texts = [0, 1].map((i) => join(folder, `runs-${i}`));
  for (const [i, maxBytes] of [2 ** 20, 2 ** 28].entries()) {
    const builder = new Bm25Builder({ maxBytes, scratch: folder });
    for (let at = 0; at < corpus.length; at += 500) await builder.add(corpus.slice(at, at + 500));
    await builder.save(texts[i] ?? "");
    await assert.rejects(builder.add(["late"]), { code: "ERR_STATE" });
    builder.close();
  }
  const [inRuns, inMemory] = await Promise.all(texts.map((path) => readFile(path)));
  assert.ok(inRuns?.equals(inMemory ?? Buffer.of()));
});

test("indexes joined give the hits and scores of one index over all passages", async () => {
  const corpus = wordyTexts(9000, 4);
  const queries = ["w1 w5 w600", "w2 w2 w7000", "w11", "w19999 w3", "none"];
  const whole = await built(corpus);
  const parts = await Promise.all(
    [corpus.slice(0, 5000), corpus.slice(5000, 5003), [], corpus.slice(5003)].map((texts) => built(texts)),
  );
  const joined = Bm25Index.join(parts);
  for (const part of parts) part.close();
  assert.equal(joined.size, 9000);
  for (const topK of [1, 20, 300])
    assert.deepEqual(await joined.search(queries, { topK }), await whole.search(queries, { topK }));
  const other = await built(["a"], { b: 0.5 });
  assert.throws(() => Bm25Index.join([whole, other]), { code: "ERR_ARGUMENT" });
  assert.throws(() => Bm25Index.join([]), { code: "ERR_ARGUMENT" });
});

test("excluded passages are not found, and the others have the scores and the order that they had", async () => {
  const corpus = wordyTexts(9000, 5);
  const queries = ["w1 w5 w600", "w2 w2 w7000", "w11", "w19999 w3", "none"];
  const whole = await built(corpus);
  const parts = await Promise.all([corpus.slice(0, 3001), corpus.slice(3001)].map((texts) => built(texts)));
  const all = await whole.search(queries, { topK: 9000 });
  for (const isOut of [(id: number) => id % 3 === 0, (id: number) => id > 40, () => true]) {
    const excluded = Int32Array.from({ length: 9000 }, (_, id) => id).filter(isOut);
    const joined = Bm25Index.join(parts, { excluded });
    for (const topK of [1, 20, 9000]) {
      const { ids, scores } = await joined.search(queries, { topK });
      const expected = queries.flatMap((_, q) => {
        const places = Array.from({ length: 9000 }, (_, i) => q * 9000 + i);
        const live = places.filter((at) => (all.ids[at] ?? -1) >= 0 && !isOut(all.ids[at] ?? -1));
        return Array.from({ length: topK }, (_, i) => live[i] ?? -1);
      });
      assert.deepEqual(
        [...ids],
        expected.map((at) => all.ids[at] ?? -1),
      );
      assert.deepEqual(
        [...scores],
        expected.map((at) => all.scores[at] ?? 0),
      );
    }
    joined.close();
  }
  assert.throws(() => Bm25Index.join(parts, { excluded: Int32Array.of(9000) }), { code: "ERR_RANGE" });
});

test("passages longer and terms more frequent than usual keep their own scores", async () => {
  const corpus = Array.from({ length: 700 }, (_, i) => `${"x ".repeat(i + 1)}${"y ".repeat(700 - i)}z`);
  const index = await built(corpus);
  const { ids } = await index.search(["x"], { topK: 700 });
  assert.deepEqual(
    [...ids],
    plainBm25(corpus, "x", 700).map(([id]) => id),
  );
});

test("more than 65,536 pairs of frequency and length are kept apart", async () => {
  const words = Array.from({ length: 170 }, (_, i) => `w${i + 1} `.repeat(i + 1)).join("");
  const corpus = Array.from({ length: 400 }, (_, i) => words + "z ".repeat(i));
  const index = await built(corpus);
  const { ids, scores } = await index.search(["w100"], { topK: 400 });
  assert.deepEqual(
    [...ids],
    Array.from(corpus, (_, i) => i),
  );
  const average = (170 * 171) / 2 + 399 / 2;
  const idf = Math.log(1 + 0.5 / 400.5);
  for (const i of [0, 399]) {
    const score = idf * (100 / (100 + 1.2 * (0.25 + (0.75 * ((170 * 171) / 2 + i)) / average)));
    assert.ok(Math.abs((scores[i] ?? 0) - score) < 1e-7 * score);
  }
});

test("queries searched one by one give what they give together", async () => {
  const index = await built(golden.corpus);
  const together = await index.search(golden.queries, { topK: 5 });
  for (const [q, query] of golden.queries.entries()) {
    const one = await index.search([query], { topK: 5 });
    assert.deepEqual(one.ids, together.ids.slice(q * 5, q * 5 + 5));
    assert.deepEqual(one.scores, together.scores.slice(q * 5, q * 5 + 5));
  }
});

test("damaged, cut and missing files are refused", async () => {
  const path = join(folder, "damaged");
  const builder = new Bm25Builder();
  await builder.add(golden.corpus);
  await builder.save(path);
  const bytes = await readFile(path);
  for (const at of [0, 8, 12, 16, 24, 40, 128, bytes.length - 1]) {
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] ?? 0) ^ 4;
    await writeFile(path, flipped);
    await assert.rejects(Bm25Index.open(path), { code: "ERR_FORMAT" }, `byte ${at}`);
  }
  for (const length of [0, 100, 128, bytes.length - 1]) {
    await writeFile(path, bytes.subarray(0, length));
    await assert.rejects(Bm25Index.open(path), { code: "ERR_FORMAT" }, `${length} bytes`);
  }
  await assert.rejects(Bm25Index.open(join(folder, "none")), { code: "ERR_IO" });
});

test("parameters out of range are refused", () => {
  assert.throws(() => new Bm25Builder({ k1: -1 }), { code: "ERR_RANGE", message: /^k1/ });
  assert.throws(() => new Bm25Builder({ b: 1.5 }), { code: "ERR_RANGE", message: /^b/ });
  assert.throws(() => new Bm25Builder({ maxBytes: 1000 }), { code: "ERR_RANGE", message: /^maxBytes/ });
});

/** The ten best of each query by the formula in float64, term by term over all passages that hold it. */
function plainTopTen(
  passages: readonly (readonly string[])[],
  queries: readonly (readonly string[])[],
): number[][] {
  const postings = new Map<string, Map<number, number>>();
  for (const [i, terms] of passages.entries()) {
    for (const term of terms) {
      const own = postings.get(term) ?? new Map<number, number>();
      postings.set(term, own.set(i, (own.get(i) ?? 0) + 1));
    }
  }
  const average = passages.reduce((sum, { length }) => sum + length, 0) / passages.length;
  return queries.map((query) => {
    const scores = new Map<number, number>();
    for (const term of query) {
      const own = postings.get(term) ?? new Map<number, number>();
      const idf = Math.log(1 + (passages.length - own.size + 0.5) / (own.size + 0.5));
      for (const [i, tf] of own) {
        const length = passages[i]?.length ?? 0;
        const gain = idf * (tf / (tf + 1.2 * (1 - 0.75 + (0.75 * length) / average)));
        scores.set(i, (scores.get(i) ?? 0) + gain);
      }
    }
    const ranked = [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return ranked.slice(0, 10).map(([i]) => i);
  });
}

test("3,125 real questions have the ten hits of the plain formula over 9,733 passages", {
  skip: skipWithoutData,
}, async () => {
  const texts: string[] = [];
  for await (const passage of readDocuments(sharedData("corpora/wiki18/passages.jsonl")))
    texts.push(indexedText(passage));
  const queries: string[] = [];
  for (const name of ["nq", "triviaqa", "popqa", "bamboogle"]) {
    const path = sharedData(`qa/flashrag-format/${name}_test.jsonl`);
    for await (const { question } of readQuestions(path)) queries.push(question);
  }
  const expected = plainTopTen(
    texts.map((text) => meaningOf(text).terms),
    queries.map((query) => termsOf(query)),
  );
  const index = await built(texts);
  const { ids } = await index.search(queries, { topK: 10 });
  const found = queries.map((_, q) => [...ids.subarray(q * 10, q * 10 + 10)].filter((id) => id >= 0));
  assert.deepEqual(found, expected);
  index.close();
});
