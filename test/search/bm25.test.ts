/** BM25 against an independent float64 implementation, and how text becomes terms. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Bm25Builder, Bm25Index, type Bm25Options } from "../../lib/search/bm25.ts";
import { projectRoot } from "../project.ts";

interface Golden {
  readonly corpus: readonly string[];
  readonly queries: readonly string[];
  /** Per query up to ten [passage, score]. */
  readonly cases: readonly { k1: number; b: number; rankings: readonly (readonly [number, number])[][] }[];
}

const folder = await mkdtemp(join(tmpdir(), "seekrl-bm25-"));
after(() => rm(folder, { recursive: true }));
const golden = JSON.parse(
  await readFile(join(projectRoot, "test/golden/search/bm25.json"), "utf8"),
) as Golden;

async function built(texts: readonly string[], options: Bm25Options = {}): Promise<Bm25Index> {
  const builder = new Bm25Builder(options);
  for (let at = 0; at < texts.length; at += 64) await builder.add(texts.slice(at, at + 64));
  const path = join(folder, "index");
  await builder.save(path);
  builder.close();
  return Bm25Index.open(path);
}

for (const { k1, b, rankings } of golden.cases) {
  test(`rankings and scores equal the float64 reference's for k1 ${k1} and b ${b}`, async () => {
    const index = await built(golden.corpus, { k1, b });
    const { ids, scores } = await index.search(golden.queries, { topK: 10 });
    for (const [q, ranking] of rankings.entries()) {
      const found = [...ids.subarray(q * 10, q * 10 + 10)].filter((id) => id >= 0);
      assert.equal(found.length, ranking.length);
      for (const [rank, [id, score]] of ranking.entries()) {
        const actual = scores[q * 10 + rank] ?? NaN;
        assert.ok(
          Math.abs(actual - score) <= 1e-6 * Math.max(1, score),
          `${golden.queries[q]}: ${actual}, ${score}`,
        );
        const isTied = ranking.some(([other, tied]) => other !== id && Math.abs(tied - score) < 1e-6);
        if (!isTied && rank < 9) assert.equal(found[rank], id, `${golden.queries[q]}, rank ${rank}`);
      }
    }
    index.close();
  });
}

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
});
