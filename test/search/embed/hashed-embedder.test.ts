/** The hashed embedder: names in short passages, by vectors alone. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { HashedEmbedder } from "../../../lib/search/embed/hashed-embedder.ts";
import { VectorIndex } from "../../../lib/search/vector-index.ts";
import { peoplePassages } from "../people.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-embedder-"));
after(() => rm(folder, { recursive: true }));
const passages = peoplePassages(4000);
const texts = passages.map(({ title, text }) => `${title}\n${text}`);

/** The share of queries whose passage comes first. */
async function shareFirst(embedder: HashedEmbedder, queryOf: (title: string) => string): Promise<number> {
  const { dim } = embedder;
  const index = VectorIndex.create("exact", { dim, capacity: texts.length });
  await index.add(await embedder.embedPassages(texts));
  const asked = passages.map((_, i) => i).filter((i) => i % 10 === 0);
  const queries = await embedder.embedQueries(asked.map((i) => queryOf(passages[i]?.title ?? "")));
  const { ids } = await index.search(queries, { topK: 1 });
  return asked.filter((i, q) => ids[q] === i).length / asked.length;
}

test("a person's passage comes first among 4,000 with similar names", async () => {
  const embedder = await HashedEmbedder.fit(texts);
  assert.ok((await shareFirst(embedder, (title) => `${title} birthplace`)) >= 0.99);
  assert.ok((await shareFirst(embedder, (title) => `where was ${title} born?`)) >= 0.99);
  const narrow = await HashedEmbedder.fit(texts, { dim: 256 });
  assert.ok((await shareFirst(narrow, (title) => `${title} birthplace`)) >= 0.95);
});

test("a misspelt name still finds its passage, nine times in ten", async () => {
  const embedder = await HashedEmbedder.fit(texts);
  const misspelt = (title: string): string => `${title}n birthplace`;
  assert.ok((await shareFirst(embedder, misspelt)) >= 0.9);
});

test("vectors have length one, equal texts equal vectors, unknown texts none", async () => {
  const embedder = await HashedEmbedder.fit(texts, { dim: 64 });
  const vectors = await embedder.embedPassages([texts[0] ?? "", texts[0] ?? "", "", "0123"]);
  const rows = [0, 1, 2, 3].map((row) => [...vectors.subarray(row * 64, row * 64 + 64)]);
  const lengths = rows.map((row) => Math.hypot(...row));
  assert.ok(Math.abs((lengths[0] ?? 0) - 1) < 1e-6);
  assert.deepEqual(rows[0], rows[1]);
  assert.deepEqual(lengths.slice(2), [0, 0]);
});

test("without a corpus similar texts are near, different ones are not", async () => {
  const embedder = HashedEmbedder.create({ dim: 1024 });
  const vectors = await embedder.embedPassages(["the red house", "a red house", "seven ships sailed"]);
  const row = (i: number): Float32Array => vectors.subarray(i * 1024, (i + 1) * 1024);
  const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, x, i) => sum + x * (b[i] ?? 0), 0);
  assert.ok(dot(row(0), row(1)) > 0.5);
  assert.ok(Math.abs(dot(row(0), row(2))) < 0.2);
});

test("a saved embedder gives the same vectors; another file is refused", async () => {
  const path = join(folder, "embedder");
  const embedder = await HashedEmbedder.fit(texts.slice(0, 100), { dim: 128 });
  await embedder.save(path);
  const opened = await HashedEmbedder.open(path);
  assert.equal(opened.dim, 128);
  assert.deepEqual(
    await opened.embedPassages(texts.slice(0, 5)),
    await embedder.embedPassages(texts.slice(0, 5)),
  );
  opened.close();
  await assert.rejects(opened.embedPassages(["x"]), { code: "ERR_STATE" });
  await writeFile(path, "something else");
  await assert.rejects(HashedEmbedder.open(path), { code: "ERR_FORMAT" });
  await assert.rejects(HashedEmbedder.open(join(folder, "none")), { code: "ERR_IO" });
  assert.throws(() => HashedEmbedder.create({ dim: 0 }), { code: "ERR_RANGE" });
});
