/** Re-ranking against transformers' sequence classifiers (test/golden/embed), and as a search. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Reranker } from "../../../lib/search/embed/reranker.ts";
import { withReranking } from "../../../lib/search/reranking.ts";
import type { Search } from "../../../lib/search/search.ts";
import { projectRoot } from "../../project.ts";

const golden = join(projectRoot, "test", "golden", "embed");
interface Golden {
  readonly texts: { readonly passages: string[]; readonly queries: string[] };
  readonly rankers: Record<string, number[]>;
}
const { texts, rankers } = JSON.parse(await readFile(join(golden, "golden.json"), "utf8")) as Golden;

for (const [name, expected] of Object.entries(rankers)) {
  test(`${name}: scores are the classifier's within 1e-4, long pairs cut as it cuts them`, async () => {
    await using reranker = await Reranker.open(join(golden, name));
    const pairs = texts.queries.flatMap((query) =>
      texts.passages.map((passage) => [query, passage] as const),
    );
    const scores = await reranker.scorePairs(pairs);
    assert.equal(scores.length, expected.length);
    const worst = expected.reduce((most, score, i) => Math.max(most, Math.abs(score - (scores[i] ?? 0))), 0);
    assert.ok(worst < 1e-4, `off by ${worst}`);
    const own = await reranker.score(texts.queries[1] ?? "", texts.passages);
    assert.deepEqual(own, scores.subarray(texts.passages.length, 2 * texts.passages.length));
  });
}

test("in int8 scores differ by at most a tenth of their spread", async () => {
  await using reranker = await Reranker.open(join(golden, "bert-rank"), { weights: "int8" });
  const expected = (rankers["bert-rank"] ?? []).slice(0, texts.passages.length);
  const scores = await reranker.score(texts.queries[0] ?? "", texts.passages);
  const spread = Math.max(...expected) - Math.min(...expected);
  const worst = expected.reduce((most, score, i) => Math.max(most, Math.abs(score - (scores[i] ?? 0))), 0);
  assert.ok(worst > 0 && worst < spread / 10, `off by ${worst} of ${spread}`);
});

test("a re-ranked search returns the candidates that the classifier scores best, best first", async () => {
  const scores = rankers["bert-rank"] ?? [];
  await using reranker = await Reranker.open(join(golden, "bert-rank"));
  const asked: number[] = [];
  const search: Search = async (queries, { topK }) => {
    asked.push(topK);
    // Title and text as the pairs of the golden file: the empty title's line break is no token.
    return queries.map(() =>
      texts.passages.map((text, i) => ({ id: String(i), title: "", text, score: -i })),
    );
  };
  const hits = await withReranking(search, { reranker, topK: 8 })(texts.queries, { topK: 3 });
  const count = texts.passages.length;
  for (const [q, found] of hits.entries()) {
    const own = scores.slice(q * count, (q + 1) * count);
    const best = own.map((_, i) => i).sort((a, b) => (own[b] ?? 0) - (own[a] ?? 0));
    assert.deepEqual(
      found.map(({ id }) => Number(id)),
      best.slice(0, 3),
    );
    assert.ok(found.every(({ score, id }) => Math.abs(score - (own[Number(id)] ?? 0)) < 1e-4));
  }
  assert.deepEqual(asked, [8]);
  assert.throws(() => withReranking(search, { reranker, topK: 0 }), { code: "ERR_RANGE" });
});

test("a folder that is no classifier with one output is refused", async () => {
  await assert.rejects(Reranker.open(join(golden, "bert-cls")), {
    code: "ERR_FORMAT",
    message: /architectures: expected a ForSequenceClassification, got BertModel/,
  });
});
