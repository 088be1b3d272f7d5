/** From a corpus to hits through an index folder. */
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { indexDigest } from "../../../lib/search/index-folder/info.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { peoplePassages } from "../people.ts";
import { jsonLinesFile } from "./corpus-file.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-index-"));
after(() => rm(folder, { recursive: true }));
const passages = peoplePassages(2000);
const shapes = {
  bm25: { dense: false },
  exact: { bm25: false, dense: { kind: "exact" } },
  hnsw: { bm25: false, dense: { kind: "hnsw" } },
  hybrid: {},
} as const;

for (const [shape, options] of Object.entries(shapes)) {
  test(`a ${shape} folder finds each person's passage first by name and attribute`, async () => {
    const out = join(folder, shape);
    await buildIndex({ corpus: passages, out, ...options });
    const search = await openIndex(out);
    assert.equal(search.size, passages.length);
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

  test(`a ${shape} search after close is an ERR_STATE, one under way ends well`, async () => {
    const search = await openIndex(join(folder, shape));
    const running = search(["anyone"], { topK: 1 });
    search.close();
    search.close();
    await running;
    await assert.rejects(search(["anyone"], { topK: 1 }), { code: "ERR_STATE" });
  });
}

test("an index with words and vectors is searched by either alone or by both", async () => {
  const out = join(folder, "hybrid");
  const query = `${passages[7]?.title} birthplace`;
  const ranked = async (mode: "bm25" | "dense" | "hybrid", of: string): Promise<string[]> => {
    const search = await openIndex(of, { mode });
    const [hits = []] = await search([query], { topK: 50 });
    search.close();
    return hits.map(({ id }) => id);
  };
  const [words, vectors] = [await ranked("bm25", out), await ranked("dense", out)];
  assert.deepEqual(words, await ranked("bm25", join(folder, "bm25")));
  assert.deepEqual(vectors, await ranked("dense", join(folder, "exact")));
  const score = (id: string): number =>
    [words, vectors].reduce((sum, list) => sum + (list.includes(id) ? 1 / (61 + list.indexOf(id)) : 0), 0);
  const fused = await ranked("hybrid", out);
  const best = [...new Set([...words, ...vectors])].map(score).sort((a, b) => b - a);
  assert.deepEqual(fused.map(score), best.slice(0, 50));
  const wrong = openIndex(join(folder, "bm25"), { mode: "hybrid" });
  await assert.rejects(wrong, { code: "ERR_ARGUMENT", message: /hybrid without dense/ });
});

test("a damaged, cut or missing file is refused by its name", async () => {
  const out = join(folder, "damaged");
  await buildIndex({ corpus: passages.slice(0, 50), out });
  const within = (await readdir(join(out, "segments", "1"))).map((name) => join("segments", "1", name));
  assert.equal(within.length, 4);
  for (const name of ["manifest.json", ...within]) {
    const path = join(out, name);
    const bytes = await readFile(path);
    const flipped = Buffer.from(bytes);
    flipped[bytes.length >> 1] = (flipped[bytes.length >> 1] ?? 0) ^ 1;
    await writeFile(path, flipped);
    const refused = { code: "ERR_FORMAT", message: new RegExp(name) };
    // A flipped bit within a string of the manifest may leave it readable; then a file is missing or has another size.
    if (name === "manifest.json") await assert.rejects(openIndex(out), { code: /ERR_FORMAT|ERR_IO/ });
    else await assert.rejects(openIndex(out), refused, `${name} with a flipped bit`);
    await truncate(path, bytes.length >> 1);
    await assert.rejects(openIndex(out), refused, `${name} cut in half`);
    await rm(path);
    await assert.rejects(openIndex(out), { code: "ERR_IO", message: new RegExp(name) });
    await writeFile(path, bytes);
  }
  (await openIndex(out)).close();
});

test("an index that nobody has touched is opened without reading its contents, a copy is checked once", async () => {
  const out = join(folder, "hybrid");
  const opened = async (at: string, verify?: "all" | "none"): Promise<number> => {
    const search = await openIndex(at, verify ? { verify } : {});
    search.close();
    return search.checkedBytes;
  };
  assert.equal(await opened(out), 0);
  const copy = join(folder, "copy");
  await cp(out, copy, { recursive: true });
  const { segments } = (await openIndex(copy, { verify: "none" })).manifest;
  const all = Object.values(segments[0]?.files ?? {}).reduce((sum, bytes) => sum + bytes, 0);
  assert.equal(await opened(copy, "none"), 0);
  assert.equal(await opened(copy), all);
  assert.equal(await opened(copy), 0);
  const vectors = join(copy, "segments", "1", "vectors.bin");
  await writeFile(vectors, await readFile(vectors));
  assert.equal(await opened(copy), segments[0]?.files["vectors.bin"], "only the file that was written again");
  assert.equal(await opened(copy, "all"), all);
});

test("a build stops at the signal and leaves no index; resumed it ends with the same bytes", async () => {
  for (const stage of ["passages", "embedder", "bm25", "vectors"] as const) {
    const stop = new AbortController();
    const out = join(folder, `stopped-${stage}`);
    const build = buildIndex({
      ...{ corpus: passages, out, signal: stop.signal },
      onProgress: (progress) => progress.stage === stage && stop.abort(),
    });
    await assert.rejects(build, { code: "ERR_ABORTED" });
    await assert.rejects(openIndex(out), { code: "ERR_IO", message: /interrupted and can be resumed/ });
    const other = buildIndex({ corpus: passages, out, dense: false, resume: true });
    await assert.rejects(other, { code: "ERR_ARGUMENT", message: /options that the build was begun with/ });
    const stages = new Set<string>();
    const embedded: number[] = [];
    await buildIndex({
      ...{ corpus: passages, out, resume: true },
      onProgress: (progress) => {
        stages.add(progress.stage);
        if (progress.stage === "vectors") embedded.push(progress.done);
      },
    });
    assert.equal(stages.has("passages"), stage === "passages", "stored passages are kept");
    assert.equal(embedded[0], stage === "vectors" ? 2000 : 1024, "the first batch of vectors is kept");
    await sameFiles(out, join(folder, "hybrid"));
    await buildIndex({ corpus: passages, out, resume: true, onProgress: () => assert.fail("it is done") });
  }
});

async function sameFiles(a: string, b: string): Promise<void> {
  for (const name of [
    "manifest.json",
    ...(await readdir(join(a, "segments", "1"))).map((each) => join("segments", "1", each)),
  ])
    assert.ok((await readFile(join(a, name))).equals(await readFile(join(b, name))), name);
}

test("progress counts every passage in every stage, with a rate", async () => {
  const last = new Map<string, number>();
  const out = join(folder, "progress");
  await buildIndex({
    ...{ corpus: passages, out },
    onProgress: ({ stage, done, total, perSecond, remainingSeconds }) => {
      assert.ok(done > (last.get(stage) ?? 0) && perSecond > 0);
      assert.equal(total === undefined, stage === "passages");
      assert.equal(remainingSeconds === undefined, stage === "passages");
      last.set(stage, done);
    },
  });
  assert.deepEqual(
    [...last],
    ["passages", "embedder", "bm25", "vectors"].map((stage) => [stage, 2000]),
  );
});

test("an empty file is no corpus, and leaves no folder behind", async () => {
  const [corpus, out] = [join(folder, "nothing.jsonl"), join(folder, "of-nothing")];
  await writeFile(corpus, "\n");
  const refusal = { code: "ERR_FORMAT", message: `${corpus}: expected passages, got an empty corpus` };
  await assert.rejects(buildIndex({ corpus, out }), refusal);
  await assert.rejects(readdir(out), { code: "ENOENT" });
  await buildIndex({ corpus: passages.slice(0, 3), out, dense: false });
  await assert.rejects(addToIndex(out, corpus), refusal);
});

test("a folder of other things is refused by name and left alone; a build that was killed is none", async () => {
  const out = join(folder, "photographs");
  await mkdir(join(out, "segments", "1"), { recursive: true });
  await writeFile(join(out, "segments", "1", "beach.jpg"), "");
  const build = (): Promise<unknown> => buildIndex({ corpus: passages.slice(0, 3), out, dense: false });
  const message = `${out}: expected a new or empty folder, or an index; it holds segments`;
  await assert.rejects(build(), { code: "ERR_ARGUMENT", message });
  assert.deepEqual(await readdir(join(out, "segments", "1")), ["beach.jpg"]);
  await writeFile(join(out, "lock"), "");
  await build();
  await writeFile(join(out, "README"), "what stands beside an index is left alone");
  await build();
  assert.ok((await readdir(out)).includes("README"));
});

test("an empty list builds an index that finds nothing", async () => {
  for (const [shape, options] of Object.entries(shapes)) {
    const out = join(folder, `empty-${shape}`);
    await buildIndex({ corpus: [], out, ...options });
    const search = await openIndex(out);
    assert.deepEqual(await search(["anything"], { topK: 3 }), [[]]);
    search.close();
  }
});

test("an id that stands for two passages is refused by name", async () => {
  const corpus = [...passages.slice(0, 10), { id: passages[3]?.id ?? "", title: "", text: "again" }];
  const build = buildIndex({ corpus, out: join(folder, "repeated") });
  await assert.rejects(build, { code: "ERR_ARGUMENT", message: new RegExp(`"${passages[3]?.id}"`) });
});

test("an index of another version is replaced, somebody else's manifest is not", async () => {
  const out = join(folder, "other-version");
  await mkdir(out);
  await writeFile(join(out, "manifest.json"), JSON.stringify({ format: "seekrl-index", version: 1 }));
  await assert.rejects(openIndex(out), {
    code: "ERR_FORMAT",
    message: /version 2, got 1; build the index again/,
  });
  await buildIndex({ corpus: passages.slice(0, 5), out });
  (await openIndex(out)).close();
  const foreign = JSON.stringify({ name: "a web page", icons: [] });
  await writeFile(join(out, "manifest.json"), foreign);
  await assert.rejects(buildIndex({ corpus: passages.slice(0, 5), out }), { code: "ERR_FORMAT" });
  assert.equal(await readFile(join(out, "manifest.json"), "utf8"), foreign);
});

test("a build replaces an index at its end; searches that have the old one open go on", async () => {
  const out = join(folder, "replaced");
  await buildIndex({ corpus: passages.slice(0, 10), out });
  const before = await openIndex(out);
  await buildIndex({ corpus: passages.slice(10, 15), out, dense: false });
  const query = [`${passages[2]?.title}`];
  assert.equal((await before(query, { topK: 1 }))[0]?.[0]?.id, passages[2]?.id);
  before.close();
  const now = await openIndex(out);
  assert.deepEqual([now.size, now.mode], [5, "bm25"]);
  now.close();
  assert.deepEqual(await readdir(join(out, "segments")), ["2"]);
});

test("a folder of text files is cut into passages, JSON Lines are not unless one says so", async () => {
  const documents = join(folder, "documents");
  await mkdir(documents);
  const paragraphs = Array.from({ length: 9 }, (_, i) =>
    `${passages[i]?.title} lives here. `.repeat(20).trim(),
  );
  await writeFile(join(documents, "a.txt"), paragraphs.slice(0, 5).join("\n\n"));
  await writeFile(join(documents, "b.md"), paragraphs.slice(5).join("\n\n"));
  const out = join(folder, "of-documents");
  await buildIndex({ corpus: documents, out });
  const search = await openIndex(out);
  assert.ok(search.size > 4);
  const [[hit] = []] = await search([passages[7]?.title ?? ""], { topK: 1 });
  search.close();
  assert.match(hit?.id ?? "", /^b\.md-\d+$/);
  assert.equal(hit?.title, "b");
  const lines = join(folder, "lines.jsonl");
  await writeFile(lines, `${JSON.stringify({ id: "long", title: "", text: paragraphs.join(" ") })}\n`);
  const sizes: number[] = [];
  for (const split of ["auto", { by: "words", size: 100 }] as const) {
    await buildIndex({ corpus: lines, out, split });
    const opened = await openIndex(out);
    sizes.push(opened.size);
    opened.close();
  }
  assert.deepEqual(sizes, [1, Math.ceil(paragraphs.join(" ").split(" ").length / 100)]);
  // A folder of both would leave the texts whole without a word.
  await cp(lines, join(documents, "lines.jsonl"));
  await assert.rejects(buildIndex({ corpus: documents, out }), {
    code: "ERR_ARGUMENT",
    message: /documents: expected plain text, .* got both: a\.txt and lines\.jsonl\. Remedy: two folders/,
  });
  await buildIndex({ corpus: documents, out, split: { by: "words", size: 100 } });
});

test("how long reading a file of passages will take is told from the share of its bytes", async () => {
  const corpus = await jsonLinesFile(join(folder, "people.jsonl"), peoplePassages(20_000));
  const remaining: (number | undefined)[] = [];
  await buildIndex({
    ...{ corpus, out: join(folder, "of-file"), dense: false },
    onProgress: ({ stage, remainingSeconds }) => stage === "passages" && remaining.push(remainingSeconds),
  });
  const told = remaining.filter((seconds) => seconds !== undefined);
  assert.ok(told.length >= 5 && told.every((seconds) => seconds >= 0));
  assert.equal(told.at(-1), 0);
});

test("an index built again in its folder has the digest that it had; other passages or settings have another", async () => {
  const [out, other] = [join(folder, "again"), join(folder, "elsewhere")];
  const corpus = passages.slice(0, 60);
  const built = async (given: Omit<Parameters<typeof buildIndex>[0], "out">, into = out): Promise<string> => {
    await buildIndex({ ...given, out: into });
    return indexDigest(into);
  };
  const first = await built({ corpus });
  assert.equal(await built({ corpus }), first);
  assert.deepEqual(await readdir(join(out, "segments")), ["2"]);
  assert.equal(await built({ corpus }, other), first);
  // As many letters as before, so that no size differs.
  const changed = corpus.with(7, { ...corpus[7]!, text: corpus[7]!.text.replaceAll("e", "a") });
  const digests = [
    first,
    await built({ corpus: changed }),
    await built({ corpus, bm25: { k1: 1.5 } }),
    await built({ corpus, dense: false }),
  ];
  await addToIndex(other, passages.slice(60, 70));
  digests.push(await indexDigest(other));
  await removeFromIndex(other, [passages[61]!.id]);
  digests.push(await indexDigest(other));
  assert.equal(new Set(digests).size, 6);
});
