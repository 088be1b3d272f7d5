/** The graph's recall among random vectors and tight clusters. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { randomVectors } from "./people.ts";
import { built, dim, queries, recall, topK } from "./vectors.ts";

const vectors = randomVectors(10_000, dim, 1);
const exact = await built("exact", { dtype: "f32" }, vectors);
const truth = await exact.search(queries, { topK });

test("the graph finds at least 95% of the true neighbours among 10,000 random vectors", async () => {
  const graph = await built("hnsw", {}, vectors);
  const { ids } = await graph.search(queries, { topK });
  assert.ok(recall(ids, truth.ids) >= 0.95, `recall ${recall(ids, truth.ids)}`);
});

test("the graph finds at least 95% of the true neighbours among tight clusters, in every dtype that orders them", async () => {
  const numCentres = 40;
  const centres = randomVectors(numCentres, dim, 7);
  const near = (count: number, seed: number): Float32Array =>
    randomVectors(count, dim, seed).map(
      (noise, i) => (centres[(Math.floor(i / dim) % numCentres) * dim + (i % dim)] ?? 0) + 0.2 * noise,
    );
  const data = near(8000, 8);
  const asked = near(100, 9);
  const whole = await built("exact", { dtype: "f32" }, data);
  const expected = await whole.search(asked, { topK });
  for (const dtype of ["f32", "bf16", "i8"] as const) {
    const index = await built("hnsw", { dtype, rescore: whole }, data);
    const found = await index.search(asked, { topK });
    assert.ok(recall(found.ids, expected.ids) >= 0.95, `${dtype}: ${recall(found.ids, expected.ids)}`);
  }
});
