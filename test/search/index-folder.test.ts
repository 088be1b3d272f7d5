/** From a corpus to hits through an index folder. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../lib/search/build-index.ts";
import { openIndex } from "../../lib/search/open-index.ts";
import { peoplePassages } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-index-"));
after(() => rm(folder, { recursive: true }));
const passages = peoplePassages(2000);
const kinds = ["bm25", "exact", "hnsw"] as const;

for (const kind of kinds) {
  test(`a ${kind} folder finds each person's passage first by name and attribute`, async () => {
    const out = join(folder, kind);
    const manifest = await buildIndex({ corpus: passages, out, kind });
    assert.equal(manifest.count, passages.length);
    const search = await openIndex(out);
    const asked = passages.filter((_, i) => i % 40 === 0);
    const hits = await search(
      asked.map(({ title }) => `${title} birthplace`),
      { topK: 3 },
    );
    const wrong = asked.filter((passage, i) => hits[i]?.[0]?.id !== passage.id);
    assert.deepEqual(wrong, []);
    assert.equal(hits[0]?.[0]?.text, asked[0]?.text);
    search.close();
  });

  test(`a ${kind} search after close is an ERR_STATE`, async () => {
    const search = await openIndex(join(folder, kind));
    search.close();
    search.close();
    await assert.rejects(search(["anyone"], { topK: 1 }), { code: "ERR_STATE" });
  });
}

test("a folder without manifest is an ERR_IO, a damaged file an ERR_FORMAT", async () => {
  const out = join(folder, "damaged");
  await buildIndex({ corpus: passages.slice(0, 50), out, kind: "exact" });
  for (const name of await readdir(out)) {
    const path = join(out, name);
    const bytes = await readFile(path);
    const flipped = Buffer.from(bytes);
    flipped[bytes.length >> 1] = (flipped[bytes.length >> 1] ?? 0) ^ 1;
    await writeFile(path, flipped);
    await assert.rejects(openIndex(out), { code: /ERR_FORMAT|ERR_IO/ }, `${name} with a flipped bit`);
    await truncate(path, bytes.length >> 1);
    await assert.rejects(openIndex(out), { code: "ERR_FORMAT" }, `${name} cut in half`);
    await writeFile(path, bytes);
  }
  (await openIndex(out)).close();
  await rm(join(out, "manifest.json"));
  await assert.rejects(openIndex(out), { code: "ERR_IO" });
});

test("a build stops at the signal and leaves no index", async () => {
  const stop = new AbortController();
  const out = join(folder, "stopped");
  const build = buildIndex({
    corpus: passages,
    out,
    kind: "hnsw",
    onProgress: () => stop.abort(),
    signal: stop.signal,
  });
  await assert.rejects(build, { code: "ERR_ABORTED" });
  await assert.rejects(openIndex(out), { code: "ERR_IO" });
});

test("progress counts every passage", async () => {
  const seen: number[] = [];
  const out = join(folder, "progress");
  await buildIndex({
    corpus: passages,
    out,
    onProgress: ({ done, total }) => seen.push(done / total),
  });
  assert.deepEqual(
    seen,
    [256, 512, 768, 1024, 1280, 1536, 1792, 2000].map((done) => done / 2000),
  );
});

test("an empty corpus builds an index that finds nothing", async () => {
  for (const kind of kinds) {
    const out = join(folder, `empty-${kind}`);
    await buildIndex({ corpus: [], out, kind });
    const search = await openIndex(out);
    assert.deepEqual(await search(["anything"], { topK: 3 }), [[]]);
    search.close();
  }
});
