/** Indexes are joined and made compact; vectors are copied, not made again. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type BuildIndexOptions, buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { indexInfo } from "../../../lib/search/index-folder/info.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Hit } from "../../../lib/search/search.ts";
import { peoplePassages } from "../people.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-merge-"));
after(() => rm(root, { recursive: true }));
const passages = peoplePassages(900);
const queries = passages.filter((_, i) => i % 9 === 0).map(({ title }) => `where was ${title} born`);
const modes = ["bm25", "dense", "hybrid"] as const;
const forms = {
  exact: { kind: "exact" },
  graph: { kind: "hnsw" },
  "scored again": { kind: "exact", dtype: "i8" },
  "graph, scored again": { kind: "hnsw", dtype: "i8" },
} as const satisfies Record<string, BuildIndexOptions["dense"]>;

async function topTen(folder: string, mode: (typeof modes)[number]): Promise<Hit[][]> {
  const search = await openIndex(folder, { mode });
  const hits = await search(queries, { topK: 10 });
  search.close();
  return hits;
}

for (const [name, dense] of Object.entries(forms)) {
  test(`merged with itself, an index forgets what was removed and answers as before: ${name}`, async () => {
    const out = join(root, `compact ${name}`);
    await buildIndex({ corpus: passages.slice(0, 500), out, dense });
    await addToIndex(out, passages.slice(500));
    const removed = passages.filter((_, i) => i % 4 === 1).map(({ id }) => id);
    await removeFromIndex(out, removed);
    const before = await Promise.all(modes.map((mode) => topTen(out, mode)));
    await mergeIndexes([out], out);
    const { passages: count, removed: left, segments, problems } = await indexInfo(out, { verify: "all" });
    assert.deepEqual([count, left, segments.length, problems], [passages.length - removed.length, 0, 1, []]);
    const after = await Promise.all(modes.map((mode) => topTen(out, mode)));
    const ids = (lists: readonly Hit[][]): string[][] => lists.map((hits) => hits.map(({ id }) => id));
    if (dense.kind === "exact") assert.deepEqual(ids(after[1] ?? []), ids(before[1] ?? []), "dense");
    assert.ok(
      ids(after.flat())
        .flat()
        .every((id) => !removed.includes(id)),
    );
    assert.equal(segments[0]?.recall === undefined, name === "exact");
    assert.ok((segments[0]?.recall ?? 1) > 0.8, `recall ${segments[0]?.recall}`);
  });
}
