/** Why a passage ranks: the parts are those of the formula, and the whole is what a search gives. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { IndexExplainer } from "../../../lib/search/index-folder/explain/explain.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { termsOf, wordsOf } from "../../../lib/text/analysis/words.ts";
import { peoplePassages } from "../people.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-explain-"));
after(() => rm(folder, { recursive: true }));
const passages = peoplePassages(300);
const out = join(folder, "index");
await buildIndex({ corpus: passages.slice(0, 200), out, dense: { kind: "exact", dim: 64 } });
await addToIndex(out, passages.slice(200));
const explainer = await IndexExplainer.open(out);
after(() => explainer.close());

const queries = [0, 99, 250].map((row) => passages[row]!.text.slice(0, 60));

/** The formula of native/search/words/bm25.h for one term and one passage. */
function bm25(term: string, id: string): number {
  const lists = passages.map(({ title, text }) => termsOf(`${title}\n${text}`));
  const average = lists.reduce((sum, { length }) => sum + length, 0) / lists.length;
  const own = lists[passages.findIndex((passage) => passage.id === id)]!;
  const tf = own.filter((each) => each === term).length;
  const df = lists.filter((list) => list.includes(term)).length;
  const idf = Math.log(1 + (lists.length - df + 0.5) / (df + 0.5));
  return (idf * tf) / (tf + 1.2 * (1 - 0.75 + (0.75 * own.length) / average));
}

test("hits are those of a search of the index, in every mode", async () => {
  for (const mode of explainer.modes) {
    const search = await openIndex(out, { mode });
    for (const query of queries) {
      const [hits = []] = await search([query], { topK: 7 });
      const explained = await explainer.explain(query, { topK: 7, mode });
      assert.deepEqual(
        explained.map(({ id, title, text, score }) => ({ id, title, text, score })),
        hits,
      );
    }
    search.close();
  }
});

test("the parts of the words are the formula's, and add up to the score", async () => {
  for (const query of queries) {
    const doubled = `${query} ${wordsOf(query)[0]}`;
    for (const { id, score, words } of await explainer.explain(doubled, { mode: "bm25", topK: 5 })) {
      assert.ok(Math.abs(words!.score - score) < 1e-4 * score);
      for (const { term, score: part } of words!.terms) {
        const times = wordsOf(doubled).filter((word) => word === term).length;
        const expected = termsOf(term).reduce((sum, each) => sum + times * bm25(each, id), 0);
        assert.ok(Math.abs(part - expected) < 1e-4, `${term} in ${id}: ${part}, expected ${expected}`);
      }
    }
  }
});

test("a title of stop words is a part of its own", async () => {
  const path = join(folder, "bands");
  const who = { id: "who", title: "The Who", text: "An English rock band." };
  const other = { id: "other", title: "Band", text: "A band who play." };
  await buildIndex({ corpus: [who, other], out: path, dense: false });
  const bands = await IndexExplainer.open(path);
  const [first] = await bands.explain("the who band");
  bands.close();
  assert.equal(first?.id, "who");
  assert.deepEqual(first?.words?.terms.map(({ term }) => term).sort(), ["band", "the who"]);
  assert.ok(Math.abs(first.words.score - first.score) < 1e-6);
});

test("places are those of the rankings by words and by vectors", async () => {
  const [query = ""] = queries;
  const [words, vectors] = await Promise.all(
    (["bm25", "dense"] as const).map(async (mode) => {
      const search = await openIndex(out, { mode });
      const [hits = []] = await search([query], { topK: 50 });
      search.close();
      return hits;
    }),
  );
  const placeOf = (hits: readonly { readonly id: string }[] | undefined, id: string): number | null => {
    const place = hits!.findIndex((hit) => hit.id === id);
    return place < 0 ? null : place + 1;
  };
  for (const hit of await explainer.explain(query, { mode: "hybrid", topK: 10 })) {
    assert.equal(hit.words!.rank, placeOf(words, hit.id));
    assert.equal(hit.vectors!.rank, placeOf(vectors, hit.id));
    const parts = [hit.words!.rank, hit.vectors!.rank].map((rank) => (rank === null ? 0 : 1 / (60 + rank)));
    assert.ok(Math.abs(hit.score - parts[0]! - parts[1]!) < 1e-12);
  }
});

test("a mode that the index does not hold is refused", async () => {
  const words = join(folder, "words");
  await buildIndex({ corpus: passages, out: words, dense: false });
  const other = await IndexExplainer.open(words);
  assert.deepEqual(other.modes, ["bm25"]);
  await assert.rejects(other.explain("x", { mode: "dense" }), { code: "ERR_ARGUMENT" });
  await assert.rejects(other.explain("x", { topK: 0 }), { code: "ERR_RANGE" });
  other.close();
});
