/** Indexes whose vectors are an encoder's. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Encoder } from "../../../lib/search/embed/encoder.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { projectRoot } from "../../project.ts";

const golden = join(projectRoot, "test", "golden", "embed");
const folder = await mkdtemp(join(tmpdir(), "seekrl-embedders-"));
after(() => rm(folder, { recursive: true }));
const { texts } = JSON.parse(await readFile(join(golden, "golden.json"), "utf8")) as {
  texts: { passages: string[]; queries: string[] };
};
const passages = texts.passages.map((text, i) => ({ id: `${i}`, title: "", text }));
const query = texts.queries[0] ?? "";
const model = join(folder, "model");
await cp(join(golden, "bert-mean"), model, { recursive: true });
const prefixes = { passagePrefix: "passage: ", queryPrefix: "query: " };

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array): number =>
    x.reduce((sum, each, i) => sum + each * (y[i] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

test("dense search ranks by the cosines of the encoder's own vectors, prefixes included", async () => {
  const out = join(folder, "index");
  const dense = { embedder: { path: model, ...prefixes }, dtype: "f32" } as const;
  await buildIndex({ corpus: passages.slice(0, -2), out, dense });
  await addToIndex(out, passages.slice(-2));
  await using encoder = await Encoder.open(model, prefixes);
  const vectors = await encoder.embedPassages(passages.map(({ text }) => `\n${text}`));
  const asked = await encoder.embedQueries([query]);
  const { dim } = encoder;
  const search = await openIndex(out, { mode: "dense" });
  const [hits = []] = await search([query], { topK: passages.length });
  search.close();
  assert.equal(hits.length, passages.length);
  for (const [i, { id, score }] of hits.entries()) {
    const own = vectors.subarray(Number(id) * dim, (Number(id) + 1) * dim);
    assert.ok(Math.abs(score - cosine(own, asked)) < 1e-5);
    assert.ok(score <= (hits[i - 1]?.score ?? 1));
  }
});

test("an encoder is found elsewhere when one says where, and another one is refused", async () => {
  const out = join(folder, "index");
  const moved = join(folder, "moved");
  await cp(model, moved, { recursive: true });
  await rm(model, { recursive: true });
  await assert.rejects(openIndex(out), { code: "ERR_IO" });
  (await openIndex(out, { mode: "bm25" })).close();
  (await openIndex(out, { encoder: moved })).close();
  const other = join(golden, "bert-cls");
  const refused = { code: "ERR_ARGUMENT", message: /expected the encoder that the index was built with/ };
  await assert.rejects(openIndex(out, { encoder: other }), refused);
});
