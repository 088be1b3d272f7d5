/** Indexes that change: grown, merged, with removed vectors, filtered, scored again, written in chunks. */
import assert from "node:assert/strict";
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { measureRecall } from "../../lib/search/measure-recall.ts";
import { VectorIndex } from "../../lib/search/vector-index.ts";
import { VectorRowsWriter } from "../../lib/search/vector-rows-writer.ts";
import { randomVectors } from "./people.ts";
import { built, count, dim, dot, numQueries, queries, recall, topK, trueScores, vectors } from "./vectors.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-vectors-"));
after(() => rm(folder, { recursive: true }));

const exact = await built("exact", { dtype: "f32" });
const truth = await exact.search(queries, { topK });

test("added to after opening, an index answers as one that was built at once", async () => {
  for (const kind of ["exact", "hnsw"] as const) {
    const path = join(folder, `grown.${kind}`);
    const first = await built(kind, { dtype: "i8" }, vectors.subarray(0, 2400 * dim));
    await first.save(path);
    const grown = await VectorIndex.open(path, { kind, capacity: 3200 });
    await grown.add(vectors.subarray(2400 * dim, 3200 * dim));
    assert.equal(grown.size, 3200);
    await assert.rejects(grown.add(vectors.subarray(0, dim)), { code: "ERR_RANGE" });
    const whole = await built("exact", { dtype: "i8" }, vectors.subarray(0, 3200 * dim));
    const [found, expected] = await Promise.all([
      grown.search(queries, { topK }),
      whole.search(queries, { topK }),
    ]);
    if (kind === "exact") assert.deepEqual(found, expected);
    else assert.ok(recall(found.ids, expected.ids) >= 0.95, `recall ${recall(found.ids, expected.ids)}`);
    await assert.rejects(VectorIndex.open(path, { kind, capacity: 10 }), { code: "ERR_RANGE" });
  }
});

test("removed vectors are never found, take no places, and stay removed after saving", async () => {
  const isRemoved = (id: number): boolean => id % 3 === 0;
  const ids = Array.from({ length: count }, (_, id) => id);
  for (const kind of ["exact", "hnsw"] as const) {
    const index = await built(kind, { dtype: "f32" });
    index.remove(ids.filter(isRemoved).slice(0, 1000));
    index.remove(ids.filter(isRemoved));
    assert.equal(index.numRemoved, ids.filter(isRemoved).length);
    const all = await exact.search(queries, { topK: 100 });
    const expected = Array.from({ length: numQueries }, (_, q) =>
      [...all.ids.subarray(q * 100, (q + 1) * 100)].filter((id) => !isRemoved(id)).slice(0, topK),
    ).flat();
    const path = join(folder, `removed.${kind}`);
    await index.save(path);
    for (const each of [index, await VectorIndex.open(path, { kind })]) {
      const found = await each.search(queries, { topK });
      assert.ok(found.ids.every((id) => id >= 0 && !isRemoved(id)));
      const share = recall(found.ids, Int32Array.from(expected));
      assert.ok(kind === "exact" ? share === 1 : share >= 0.95, `recall ${share}`);
    }
    assert.throws(() => index.remove([count]), { code: "ERR_RANGE" });
    index.remove(ids.slice(3));
    const few = await index.search(queries.subarray(0, dim), { topK: 3 });
    assert.deepEqual([...few.ids.filter((id) => id >= 0)].sort(), [1, 2]);
    assert.equal(few.ids[2], -1);
  }
});

test("a search may be limited to any set of vectors, large or small", async () => {
  const graph = await built("hnsw", { dtype: "f32" });
  for (const every of [2, 50, 2000]) {
    const allowed = new Uint8Array(Math.ceil(count / 8));
    const members: number[] = [];
    for (let id = 1; id < count; id += every) {
      allowed[id >> 3] = (allowed[id >> 3] ?? 0) | (1 << (id & 7));
      members.push(id);
    }
    const wanted = Math.min(topK, members.length);
    const truth = await exact.search(queries, { topK: wanted, allowed });
    assert.ok(truth.ids.every((id) => members.includes(id)));
    const { ids } = await graph.search(queries, { topK: wanted, allowed });
    assert.ok(recall(ids, truth.ids) >= 0.95, `every ${every}: ${recall(ids, truth.ids)}`);
  }
  await assert.rejects(graph.search(queries, { topK, allowed: new Uint8Array(3) }), { code: "ERR_SHAPE" });
});

test("indexes merged into one answer as one index of all their vectors that are left", async () => {
  const parts = [0, 1600, 2800, count];
  for (const kind of ["exact", "hnsw"] as const) {
    const whole = VectorIndex.create(kind, { dim, capacity: count });
    const seen: number[] = [];
    for (const [i, begin] of parts.slice(0, -1).entries()) {
      const part = await built("exact", {}, vectors.subarray(begin * dim, (parts[i + 1] ?? 0) * dim));
      part.remove([0, 1]);
      await whole.addFrom(part, { onProgress: ({ done }) => seen.push(done) });
    }
    assert.equal(whole.size, count - 6);
    assert.ok(seen.length >= 3);
    const left = Array.from({ length: count }, (_, id) => id).filter(
      (id) => !parts.includes(id) && !parts.includes(id - 1),
    );
    const direct = await built(
      "exact",
      {},
      Float32Array.from(left.flatMap((id) => [...vectors.subarray(id * dim, (id + 1) * dim)])),
    );
    const [found, expected] = await Promise.all([
      whole.search(queries, { topK }),
      direct.search(queries, { topK }),
    ]);
    if (kind === "exact") assert.deepEqual(found, expected);
    else assert.ok(recall(found.ids, expected.ids) >= 0.95);
    await assert.rejects(whole.addFrom(direct), { code: "ERR_RANGE" });
    const stopped = VectorIndex.create(kind, { dim, capacity: count });
    await assert.rejects(stopped.addFrom(direct, { signal: AbortSignal.abort() }), { code: "ERR_ABORTED" });
    assert.equal(stopped.size, 0);
  }
});

test("stored vectors are read back as exactly as they are stored", async () => {
  for (const [dtype, tolerance] of [
    ["f32", 1e-6],
    ["bf16", 2 ** -8],
    ["i8", 1 / 127],
  ] as const) {
    const index = await built("exact", { dtype, dim: 7 }, vectors.subarray(0, 700));
    const read = await index.read(3, 90);
    for (let row = 0; row < 90; row += 1) {
      const original = vectors.subarray((row + 3) * 7, (row + 4) * 7);
      const length = Math.sqrt(dot(original, original));
      const worst = Math.max(...original.map((x, i) => Math.abs(x / length - (read[row * 7 + i] ?? NaN))));
      assert.ok(worst <= tolerance, `${dtype}: ${worst}`);
    }
    await assert.rejects(index.read(50, 51), { code: "ERR_RANGE" });
  }
});

test("a vector's product with its bf16 form misses its square by a third of what rounding to nearest makes of it", async () => {
  const [width, num] = [128, 500];
  const data = randomVectors(num, width, 5);
  const index = await built("exact", { dtype: "bf16", dim: width }, data);
  const read = await index.read(0, num);
  const [kept, nearest] = [[] as number[], [] as number[]];
  for (let row = 0; row < num; row += 1) {
    const original = data.subarray(row * width, (row + 1) * width);
    const length = Math.sqrt(dot(original, original));
    const unit = original.map((x) => x / length);
    kept.push(dot(unit, read.subarray(row * width, (row + 1) * width)) - 1);
    nearest.push(dot(unit, unit.map(toBf16)) - 1);
  }
  const rootMeanSquare = (errors: number[]): number => Math.hypot(...errors) / Math.sqrt(num);
  const [ours, rounded] = [rootMeanSquare(kept), rootMeanSquare(nearest)];
  assert.ok(ours < rounded / 3, `${ours} against ${rounded}`);
});

/** To 8 bits of precision, to nearest. */
function toBf16(value: number): number {
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(value))) - 7);
  return Math.round(value / unit) * unit;
}

for (const [dtype, overFetch] of [
  ["i8", 4],
  ["b1", 200],
] as const) {
  test(`${dtype} scored again by f32 gives the exact order and scores of what it finds`, async () => {
    const finer = await built("exact", { dtype: "f32" });
    for (const kind of ["exact", "hnsw"] as const) {
      const index = await built(kind, { dtype, rescore: finer });
      const { ids, scores } = await index.search(queries, { topK, overFetch });
      const found = recall(ids, truth.ids);
      assert.ok(found >= 0.95, `${kind}: recall ${found}`);
      for (let q = 0; q < 5; q += 1) {
        const expected = trueScores(queries.subarray(q * dim, (q + 1) * dim), "cos", vectors, dim);
        for (let rank = q * topK; rank < (q + 1) * topK; rank += 1) {
          assert.ok(Math.abs((expected[ids[rank] ?? -1] ?? NaN) - (scores[rank] ?? NaN)) <= 1e-5);
          assert.ok(rank % topK === 0 || (scores[rank] ?? 0) <= (scores[rank - 1] ?? 0));
        }
      }
    }
    const short = await built("exact", { dtype: "f32" }, vectors.subarray(0, 10 * dim));
    const wrong = await built("exact", { dtype, rescore: short });
    await assert.rejects(wrong.search(queries, { topK }), { code: "ERR_ARGUMENT" });
  });
}

test("one bit a component is scored again from five times as many candidates as eight bits", async () => {
  const finer = await built("exact", { dtype: "f32" });
  for (const [dtype, overFetch] of [
    ["i8", 4],
    ["b1", 20],
  ] as const) {
    const index = await built("exact", { dtype, rescore: finer });
    assert.deepEqual(await index.search(queries, { topK }), await index.search(queries, { topK, overFetch }));
  }
});

test("b1 compares signs: its scores are those of vectors of ones and minus ones", async () => {
  for (const width of [1, 63, 64, 65, 384, 1000]) {
    const data = randomVectors(200, width, 5);
    const signs = data.map((value) => (value > 0 ? 1 : -1));
    const asked = randomVectors(3, width, 6);
    const index = await built("exact", { dim: width, dtype: "b1" }, data);
    const { ids, scores } = await index.search(asked, { topK: 200 });
    for (let q = 0; q < 3; q += 1) {
      const query = asked.subarray(q * width, (q + 1) * width).map((value) => (value > 0 ? 1 : -1));
      const expected = trueScores(query, "cos", signs, width);
      for (let rank = q * 200; rank < (q + 1) * 200; rank += 1)
        assert.ok(Math.abs((expected[ids[rank] ?? -1] ?? NaN) - (scores[rank] ?? NaN)) < 1e-5);
    }
  }
});

test("recall is measured against an exact search of the finest vectors", async () => {
  const finer = await built("exact", { dtype: "f32" });
  assert.equal(await measureRecall(finer), 1);
  const coarse = await built("exact", { dtype: "b1", rescore: finer });
  const [once, often] = [
    await measureRecall(coarse, { overFetch: 1 }),
    await measureRecall(coarse, { overFetch: 200 }),
  ];
  assert.ok(once < 0.5 && often > 0.95, `${once}, ${often}`);
  const { ids } = await coarse.search(queries, { topK, overFetch: 1 });
  assert.equal(
    await measureRecall(coarse, { queries, topK, overFetch: 1 }),
    recall(ids, (await finer.search(queries, { topK })).ids),
  );
});

test("rows that are written in chunks go on after a kill and become an exact index", async () => {
  for (const dtype of ["f32", "bf16", "i8", "b1"] as const) {
    const path = join(folder, `${dtype}.rows`);
    const some = vectors.subarray(0, 500 * 33);
    const first = await VectorRowsWriter.open(path, { dim: 33, dtype });
    await first.add(some.subarray(0, 200 * 33));
    first.close();
    // What a kill in the middle of a write leaves behind the rows that are counted.
    await appendFile(`${path}.part`, Buffer.alloc(77, 1));
    await assert.rejects(VectorRowsWriter.open(path, { dim: 32, dtype }), { code: "ERR_ARGUMENT" });
    const second = await VectorRowsWriter.open(path, { dim: 33, dtype });
    assert.equal(second.size, 200);
    await second.add(some.subarray(200 * 33));
    await assert.rejects(stat(path));
    await second.finish();
    await assert.rejects(second.add(some), { code: "ERR_STATE" });
    second.close();
    const direct = await built("exact", { dim: 33, dtype }, some);
    await direct.save(`${path}.direct`);
    assert.deepEqual(await readFile(path), await readFile(`${path}.direct`));
    await assert.rejects(stat(`${path}.part`));
  }
});

test("a part that is cut or damaged is refused", async () => {
  const path = join(folder, "hurt.rows");
  const writer = await VectorRowsWriter.open(path, { dim });
  await writer.add(vectors.subarray(0, 100 * dim));
  writer.close();
  const bytes = await readFile(`${path}.part`);
  for (const hurt of [
    bytes.subarray(0, bytes.length - 1),
    Buffer.concat([Buffer.alloc(9), bytes.subarray(9)]),
  ]) {
    await writeFile(`${path}.part`, hurt);
    await assert.rejects(VectorRowsWriter.open(path, { dim }), { code: "ERR_FORMAT" });
  }
});

test("a damaged graph that was opened unverified cannot lead a search out of the file", async () => {
  const path = join(folder, "wild.hnsw");
  await (await built("hnsw", {}, vectors.subarray(0, 2000 * dim))).save(path);
  const bytes = await readFile(path);
  for (let seed = 0; seed < 20; seed += 1) {
    const wild = Buffer.from(bytes);
    for (let i = 0; i < 2000; i += 1) {
      const at =
        2000 * dim * 2 + 256 + (((i + 1) * (seed * 977 + 7919) * 31) % (bytes.length - 2000 * dim * 2 - 256));
      wild[at] = (i * 37 + seed) & 255;
    }
    await writeFile(path, wild);
    const index = await VectorIndex.open(path, { kind: "hnsw", verify: false }).catch(() => undefined);
    if (index === undefined) continue;
    assert.equal((await index.search(queries, { topK, expansion: 20 })).ids.length, numQueries * topK);
    index.close();
  }
});

test("many equal vectors do not hide the others", async () => {
  const data = vectors.slice(0, 2400 * dim);
  for (let row = 400; row < 1200; row += 1) data.copyWithin(row * dim, 0, dim);
  const graph = await built("hnsw", {}, data);
  const flat = await built("exact", {}, data);
  const [found, expected] = await Promise.all([
    graph.search(queries, { topK }),
    flat.search(queries, { topK }),
  ]);
  // A walk and a scan add up a product in different orders.
  const numRight = found.scores.filter((score, i) => score >= (expected.scores[i] ?? 1) - 1e-6).length;
  assert.ok(numRight >= 0.95 * found.scores.length, `${numRight} of ${found.scores.length}`);
});
