/** Exact search and the graph against plain arithmetic and each other. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { VectorIndex, type VectorIndexOptions } from "../../lib/search/vector-index.ts";
import { randomVectors } from "./people.ts";
import { built, count, dim, numQueries, queries, recall, topK, trueScores, vectors } from "./vectors.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-vectors-"));
after(() => rm(folder, { recursive: true }));

const exact = await built("exact", { dtype: "f32" });

for (const metric of ["cos", "ip"] as const) {
  for (const [dtype, tolerance] of [
    ["f32", 1e-5],
    ["bf16", 6e-3],
    ["i8", 2e-2],
  ] as const) {
    if (dtype === "i8" && metric === "ip") continue;
    test(`exact ${metric} over ${dtype} gives the true scores within ${tolerance}`, async () => {
      for (const width of [1, 7, 33, 100]) {
        const data = randomVectors(300, width, 3);
        const index = await built("exact", { dim: width, dtype, metric }, data);
        const asked = randomVectors(5, width, 4);
        const { ids, scores } = await index.search(asked, { topK: 300 });
        for (let q = 0; q < 5; q += 1) {
          const query = asked.subarray(q * width, (q + 1) * width);
          const expected = trueScores(query, metric, data, width);
          const scale = metric === "ip" ? Math.max(...expected.map(Math.abs)) : 1;
          const wrong = Array.from(ids.subarray(q * 300, (q + 1) * 300)).filter(
            (id, rank) =>
              !(Math.abs((expected[id] ?? NaN) - (scores[q * 300 + rank] ?? NaN)) <= tolerance * scale),
          );
          assert.deepEqual(wrong, [], `width ${width}, query ${q}`);
          assert.equal(new Set(ids.subarray(q * 300, (q + 1) * 300)).size, 300);
        }
      }
    });
  }
}

test("results are ordered by score, equal scores by id", async () => {
  const index = await built("exact", { dim: 2 }, new Float32Array([1, 0, 0, 1, 1, 0, 0, -1, 1, 0]));
  const { ids, scores } = await index.search(new Float32Array([1, 0]), { topK: 5 });
  assert.deepEqual([...ids], [0, 2, 4, 1, 3]);
  assert.ok([...scores].every((score, i) => score === (i < 3 ? 1 : 0)));
});

for (const dtype of ["f32", "bf16", "i8"] as const) {
  test(`the graph over ${dtype} finds the neighbours, and reopened finds the same`, async () => {
    const some = vectors.subarray(0, 2000 * dim);
    const index = await built("hnsw", { dtype }, some);
    const path = join(folder, `${dtype}.hnsw`);
    const found = await index.search(queries, { topK });
    const expected = await (await built("exact", { dtype }, some)).search(queries, { topK });
    assert.ok(recall(found.ids, expected.ids) >= 0.98, `recall ${recall(found.ids, expected.ids)}`);
    await index.save(path);
    const viewed = await VectorIndex.open(path, { kind: "hnsw" });
    assert.equal(viewed.size, 2000);
    assert.deepEqual(await viewed.search(queries, { topK }), found);
    index.close();
    viewed.close();
  });
}

test("a query's result does not depend on its batch, bit for bit, in either kind and any dtype", async () => {
  for (const dtype of ["f32", "bf16", "i8"] as const) {
    for (const kind of ["exact", "hnsw"] as const) {
      const index = await built(kind, { dtype }, vectors.subarray(0, 1000 * dim));
      const together = await index.search(queries.subarray(0, 50 * dim), { topK });
      for (const size of [1, 3, 16, 17, 33]) {
        for (let q = 0; q + size <= 50; q += size) {
          const part = await index.search(queries.subarray(q * dim, (q + size) * dim), { topK });
          assert.deepEqual(part.ids, together.ids.slice(q * topK, (q + size) * topK));
          assert.deepEqual(part.scores, together.scores.slice(q * topK, (q + size) * topK));
        }
      }
    }
  }
});

test("an exact index reads the same after saving, in every dtype", async () => {
  for (const dtype of ["f32", "bf16", "i8"] as const) {
    const index = await built("exact", { dtype }, vectors.subarray(0, 1001 * dim));
    const path = join(folder, `${dtype}.flat`);
    await index.save(path);
    const mapped = await VectorIndex.open(path, { kind: "exact" });
    assert.deepEqual(await mapped.search(queries, { topK }), await index.search(queries, { topK }));
    await assert.rejects(mapped.add(vectors.subarray(0, dim)), { code: "ERR_STATE" });
  }
});

test("the event loop turns while a heavy batch is searched and while vectors are added", async () => {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  const heavy = randomVectors(2000, dim, 5);
  last = performance.now();
  const started = last;
  const graph = VectorIndex.create("hnsw", { dim, capacity: count });
  await Promise.all([exact.search(heavy, { topK }), graph.add(vectors.subarray(0, 4000 * dim))]);
  clearInterval(timer);
  const total = performance.now() - started;
  assert.ok(total > 100, `too light to tell: ${total} ms`);
  assert.ok(longest < Math.max(60, total / 3), `blocked for ${longest} of ${total} ms`);
});

test("many searches at once, during close, all settle", async () => {
  const index = await built("hnsw", {}, vectors.subarray(0, 1000 * dim));
  const running = Array.from({ length: 50 }, () => index.search(queries, { topK: 3 }));
  index.close();
  index.close();
  const settled = await Promise.all(running);
  assert.ok(settled.every(({ ids }) => ids.length === numQueries * 3));
  await assert.rejects(index.search(queries, { topK: 1 }), { code: "ERR_STATE" });
});

test("damaged, cut and foreign files are ERR_FORMAT, missing ones ERR_IO", async () => {
  for (const kind of ["exact", "hnsw"] as const) {
    const path = join(folder, `damaged.${kind}`);
    await (await built(kind, {}, vectors.subarray(0, 100 * dim))).save(path);
    const bytes = await readFile(path);
    for (const at of [0, 9, 13, 20, 30, 50, 90, 128, 200, bytes.length >> 1, bytes.length - 1]) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 0x10;
      await writeFile(path, flipped);
      await assert.rejects(VectorIndex.open(path, { kind }), { code: "ERR_FORMAT" }, `${kind}, byte ${at}`);
    }
    for (const length of [0, 1, 64, 127, 128, bytes.length - 1]) {
      await writeFile(path, bytes.subarray(0, length));
      for (const verify of [true, false]) {
        const opening = VectorIndex.open(path, { kind, verify });
        await assert.rejects(opening, { code: "ERR_FORMAT" }, `${kind}, ${length} bytes`);
      }
    }
    await writeFile(path, Buffer.concat([bytes, Buffer.alloc(1)]));
    await assert.rejects(VectorIndex.open(path, { kind }), { code: "ERR_FORMAT" });
    await writeFile(path, bytes);
    const other = kind === "exact" ? "hnsw" : "exact";
    await assert.rejects(VectorIndex.open(path, { kind: other }), { code: "ERR_FORMAT" });
    await assert.rejects(VectorIndex.open(join(folder, "none"), { kind }), { code: "ERR_IO" });
  }
});

test("a file that is known to be good opens without a look at its vectors, its header is checked all the same", async () => {
  for (const kind of ["exact", "hnsw"] as const) {
    const path = join(folder, `trusted.${kind}`);
    const index = await built(kind, {}, vectors.subarray(0, 100 * dim));
    await index.save(path);
    const trusted = await VectorIndex.open(path, { kind, verify: false });
    assert.deepEqual(await trusted.search(queries, { topK }), await index.search(queries, { topK }));
    const bytes = await readFile(path);
    for (let at = 0; at < 128; at += 1) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ 0x10;
      const damaged = join(folder, `header.${kind}`);
      await writeFile(damaged, flipped);
      await assert.rejects(
        VectorIndex.open(damaged, { kind, verify: false }),
        { code: "ERR_FORMAT" },
        `${at}`,
      );
    }
    const unread = Buffer.from(bytes);
    unread[bytes.length - 1] = (unread.at(-1) ?? 0) ^ 1;
    await writeFile(path, unread);
    await assert.rejects(VectorIndex.open(path, { kind }), { code: "ERR_FORMAT" });
    (await VectorIndex.open(path, { kind, verify: false })).close();
  }
});

test("an index that cannot be written is an ERR_IO and leaves no file", async () => {
  await assert.rejects(exact.save(join(folder, "no-such-folder", "index")), { code: "ERR_IO" });
  await assert.rejects(stat(join(folder, "no-such-folder")));
});

test("wrong arguments are refused with their names", () => {
  const create = (options: Partial<VectorIndexOptions>) => () =>
    VectorIndex.create("exact", { dim: 4, capacity: 4, ...options });
  assert.throws(create({ dim: 0 }), { code: "ERR_RANGE", message: /^dim: expected 1 to 65536, got 0/ });
  assert.throws(create({ capacity: -1 }), { code: "ERR_RANGE", message: /^capacity/ });
  assert.throws(create({ dtype: "i8", metric: "ip" }), { code: "ERR_ARGUMENT" });
});

test("wrong shapes, too many vectors and values that are not finite are refused", async () => {
  for (const kind of ["exact", "hnsw"] as const) {
    const index = VectorIndex.create(kind, { dim: 4, capacity: 2 });
    await assert.rejects(index.add(new Float32Array(5)), { code: "ERR_SHAPE" });
    await assert.rejects(index.add(new Float32Array(12)), { code: "ERR_RANGE" });
    await assert.rejects(index.add(new Float32Array([1, NaN, 0, 0])), { code: "ERR_RANGE" });
    const adding = index.add(new Float32Array(4).fill(1));
    await assert.rejects(index.add(new Float32Array(4)), { code: "ERR_STATE" });
    await adding;
    await assert.rejects(index.search(new Float32Array(3), { topK: 1 }), { code: "ERR_SHAPE" });
    await assert.rejects(index.search(new Float32Array(4), { topK: 0 }), { code: "ERR_RANGE" });
    await assert.rejects(index.search(new Float32Array(4), { topK: 2 }), { code: "ERR_RANGE" });
    assert.deepEqual([...(await index.search(new Float32Array(4), { topK: 1 })).ids], [0]);
    assert.equal((await index.search(new Float32Array(0), { topK: 1 })).ids.length, 0);
  }
});
