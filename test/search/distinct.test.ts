/** Repeated passages collapse into one, however many there are, in every way to search. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { distinctSearch } from "../../lib/search/distinct.ts";
import { buildIndex } from "../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../lib/search/index-folder/open.ts";
import type { Search } from "../../lib/search/search.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-distinct-"));
after(() => rm(folder, { recursive: true }));

const repeats = Array.from({ length: 500 }, (_, i) => ({
  id: `same-${i}`,
  title: "",
  text: i % 2 === 0 ? "The heron fishes in the river" : "the  Heron fishes in the RIVER",
}));
const others = ["A heron is a bird that fishes.", "The river floods the meadow in spring.", ""].map(
  (text, i) => ({
    id: `other-${i}`,
    title: "heron",
    text,
  }),
);
const out = join(folder, "index");
await buildIndex({ corpus: [...repeats, ...others], out, dense: { dim: 64 } });

for (const mode of ["bm25", "dense", "hybrid"] as const)
  test(`500 equal passages leave room for the others: ${mode}`, async () => {
    const queries = ["where does the heron fish", "heron river"];
    const every = await openIndex(out, { mode });
    for (const hits of await every(queries, { topK: 5 }))
      assert.ok(hits.every(({ id }) => id.startsWith("same-")));
    every.close();
    const search = await openIndex(out, { mode, distinct: true });
    for (const hits of await search(queries, { topK: 5 })) {
      assert.deepEqual(
        hits.map(({ id }) => id).filter((id) => id.startsWith("same-")),
        ["same-0"],
      );
      assert.deepEqual(hits.map(({ id }) => id).toSorted(), ["other-0", "other-1", "other-2", "same-0"]);
      assert.deepEqual(
        hits.map(({ score }) => score),
        hits.map(({ score }) => score).toSorted((a, b) => b - a),
      );
    }
    assert.equal((await search(queries, { topK: 1 }))[0]?.length, 1);
    search.close();
  });

test("a search is asked deeper for the queries alone that lack hits, and no deeper than it may be", async () => {
  const asked: [readonly string[], number][] = [];
  const search: Search = async (queries, { topK }) => {
    asked.push([queries, topK]);
    return queries.map((query) =>
      Array.from({ length: topK }, (_, i) => ({
        id: String(i),
        title: "",
        text: query === "same" ? "one" : `text ${i}`,
        score: 1 / (i + 1),
      })),
    );
  };
  const found = await distinctSearch(search, { depth: 30 })(["other", "same"], { topK: 2 });
  assert.deepEqual(
    found.map((hits) => hits.map(({ id }) => id)),
    [["0", "1"], ["0"]],
  );
  assert.deepEqual(asked, [
    [["other", "same"], 2],
    [["same"], 8],
    [["same"], 30],
  ]);
});
