/** Exact search on a GPU, emulated, against the CPU's exact index of the same vectors. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../lib/search/index-folder/open.ts";
import type { Hit } from "../../lib/search/search.ts";
import {
  VectorIndex,
  type VectorIndexOptions,
  type VectorSearchOptions,
} from "../../lib/search/vector-index.ts";
import { randomVectors } from "../search/people.ts";
import { gpuDevice, skipOffEmulator } from "./device.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-gpu-search-"));
after(() => rm(scratch, { recursive: true }));

const device = gpuDevice;

/** Small whole numbers: products are exact in any order of sums, and many of them are equal. */
function wholeVectors(count: number, dim: number, seed: number): Float32Array {
  return randomVectors(count, dim, seed).map((value) => Math.round(value * 2));
}

async function filled(
  data: Float32Array,
  options: Omit<VectorIndexOptions, "capacity">,
): Promise<VectorIndex> {
  const index = VectorIndex.create("exact", { capacity: data.length / options.dim, ...options });
  await index.add(data);
  return index;
}

/** The same search of both; ids and scores to the bit. */
async function areSame(
  [cpu, gpu]: readonly [VectorIndex, VectorIndex],
  queries: Float32Array,
  options: VectorSearchOptions,
): Promise<void> {
  assert.deepEqual(await gpu.search(queries, options), await cpu.search(queries, options));
}

/** The same, scores within rounding. */
async function areAlike(
  [cpu, gpu]: readonly [VectorIndex, VectorIndex],
  queries: Float32Array,
  options: VectorSearchOptions,
): Promise<void> {
  const [expected, actual] = [await cpu.search(queries, options), await gpu.search(queries, options)];
  assert.deepEqual(actual.ids, expected.ids);
  for (const [i, score] of expected.scores.entries())
    assert.ok(Math.abs(score - actual.scores[i]!) <= 1e-5 * Math.max(1, Math.abs(score)), `${score}`);
}

const wholes = { metric: "ip", dtype: "bf16" } as const;

for (const [dim, count, topK] of [
  [16, 700, 10],
  [24, 1300, 1000],
  [7, 50, 50],
] as const) {
  test(`bf16: the CPU's hits and ties, ${count} vectors of width ${dim}, ${topK} of them`, async () => {
    const data = wholeVectors(count, dim, 1);
    const both = [
      await filled(data, { dim, ...wholes }),
      await filled(data, { dim, ...wholes, device }),
    ] as const;
    await areAlike(both, wholeVectors(9, dim, 2), { topK });
    for (const index of both) index.close();
    await assert.rejects(both[1].search(data.subarray(0, dim), { topK: 1 }), { code: "ERR_STATE" });
  });
}

test("more queries than a launch takes are searched in parts", async () => {
  const data = wholeVectors(90, 16, 3);
  const both = [
    await filled(data, { dim: 16, ...wholes }),
    await filled(data, { dim: 16, ...wholes, device }),
  ] as const;
  await areAlike(both, wholeVectors(1030, 16, 4), { topK: 3 });
});

test("i8: the CPU's hits and scores, and those that bf16 or f32 scores again", async () => {
  const [data, queries] = [randomVectors(600, 40, 5), randomVectors(20, 40, 6)];
  for (const dtype of ["f32", "bf16"] as const) {
    const rescore = await filled(data, { dim: 40, dtype });
    const [plain, again] = [{ dim: 40, dtype: "i8" } as const, { dim: 40, dtype: "i8", rescore } as const];
    await areSame([await filled(data, plain), await filled(data, { ...plain, device })], queries, {
      topK: 20,
    });
    await areAlike([await filled(data, again), await filled(data, { ...again, device })], queries, {
      topK: 20,
      overFetch: 3,
    });
  }
});

for (const [dim, count, topK] of [
  [1, 40, 3],
  [5, 1500, 300],
  [64, 700, 10],
  [100, 1300, 1000],
  [300, 500, 20],
  [2100, 150, 7],
] as const) {
  test(`b1: the CPU's hits, ties and bits of scores, ${count} vectors of width ${dim}, ${topK} of them`, async () => {
    const data = randomVectors(count, dim, 14);
    const options = { dim, dtype: "b1" } as const;
    const both = [await filled(data, options), await filled(data, { ...options, device })] as const;
    await areSame(both, randomVectors(dim === 300 ? 70 : 5, dim, 15), { topK });
  });
}

test("b1: more queries than a launch takes, and what bf16 or f32 scores again", async () => {
  const data = wholeVectors(400, 72, 16);
  const queries = wholeVectors(520, 72, 17);
  const plain = { dim: 72, dtype: "b1" } as const;
  await areSame([await filled(data, plain), await filled(data, { ...plain, device })], queries, { topK: 4 });
  const few = queries.slice(0, 9 * 72);
  for (const dtype of ["bf16", "f32"] as const) {
    const again = { ...plain, rescore: await filled(data, { dim: 72, metric: "ip", dtype }) };
    // Products of whole numbers are exact: the second scores have the CPU's bits too.
    await areSame([await filled(data, again), await filled(data, { ...again, device })], few, {
      topK: 10,
      overFetch: 20,
    });
    const rounded = { ...plain, rescore: await filled(data, { dim: 72, dtype }) };
    await areAlike([await filled(data, rounded), await filled(data, { ...rounded, device })], few, {
      topK: 3,
      overFetch: 20,
    });
  }
});

test("b1: unless told otherwise no more candidates are scored again than a GPU finds", async () => {
  const [data, asked] = [wholeVectors(3000, 72, 16), wholeVectors(3, 72, 17)];
  const rescore = await filled(data, { dim: 72, metric: "ip", dtype: "bf16" });
  const options = { dim: 72, dtype: "b1", rescore } as const;
  const [cpu, gpu] = [await filled(data, options), await filled(data, { ...options, device })];
  const found = await gpu.search(asked, { topK: 300 });
  assert.deepEqual(found, await cpu.search(asked, { topK: 300, overFetch: 3 }));
  await assert.rejects(gpu.search(asked, { topK: 300, overFetch: 4 }), { code: "ERR_RANGE" });
});

for (const dtype of ["bf16", "i8", "b1"] as const) {
  test(`${dtype}: removed vectors and those that are not allowed are not found`, async () => {
    const data = wholeVectors(200, 16, 7);
    const options = { dim: 16, dtype } as const;
    const both = [await filled(data, options), await filled(data, { ...options, device })] as const;
    const areEqual = dtype === "bf16" ? areAlike : areSame;
    const queries = data.slice(0, 8 * 16);
    await areEqual(both, queries, { topK: 5 });
    for (const index of both) index.remove([0, 3, 150]);
    await areEqual(both, queries, { topK: 5 });
    const allowed = new Uint8Array(25).fill(0b10110101);
    await areEqual(both, queries, { topK: 5, allowed });
    await areEqual(both, queries, { topK: 200, allowed });
    await areEqual(both, queries, { topK: 200 });
    for (const index of both) index.remove([1]);
    await areEqual(both, queries, { topK: 7 });
  });
}

for (const form of [wholes, { dtype: "b1" }] as const) {
  test(`an empty index of ${form.dtype} finds nothing; added vectors are found`, async () => {
    const options = { dim: 16, capacity: 60, ...form };
    const both = [
      VectorIndex.create("exact", options),
      VectorIndex.create("exact", { ...options, device }),
    ] as const;
    const queries = wholeVectors(4, 16, 8);
    await areSame(both, queries, { topK: 1 });
    for (const [count, seed] of [
      [1, 9],
      [20, 10],
      [39, 11],
    ] as const) {
      for (const index of both) await index.add(wholeVectors(count, 16, seed));
      await areSame(both, queries, { topK: both[0].size });
    }
  });
}

test("rows that come later find room where the old and all together would not fit", async () => {
  const dim = 256;
  const options = { dim, capacity: 6000, ...wholes };
  const both = [
    VectorIndex.create("exact", options),
    VectorIndex.create("exact", { ...options, device }),
  ] as const;
  const queries = wholeVectors(1, dim, 8);
  const rowBytes = 2 * dim;
  for (const seed of [9, 10]) {
    for (const index of both) await index.add(wholeVectors(3000, dim, seed));
    process.env["SEEKRL_EMULATED_BYTES"] = String(1.3 * 6000 * rowBytes);
    try {
      await areSame(both, queries, { topK: 3 });
    } finally {
      delete process.env["SEEKRL_EMULATED_BYTES"];
    }
  }
});

test("a search waits once, also one that is told which rows it may find", {
  skip: skipOffEmulator,
}, async () => {
  const data = wholeVectors(200, 16, 7);
  const rescore = await filled(data, { dim: 16, dtype: "bf16" });
  const index = await filled(data, { dim: 16, dtype: "i8", rescore, device });
  const waits = join(scratch, "waits");
  await index.search(data.slice(0, 16), { topK: 5 });
  process.env["SEEKRL_EMULATED_WAITS"] = waits;
  try {
    await index.search(data.slice(0, 16), { topK: 5, allowed: new Uint8Array(25).fill(0b10110101) });
  } finally {
    delete process.env["SEEKRL_EMULATED_WAITS"];
  }
  assert.equal(await readFile(waits, "utf8"), "copy home\n");
});

for (const form of [wholes, { dtype: "b1" }] as const) {
  test(`a saved index of ${form.dtype} goes to a GPU as it is opened`, async () => {
    const data = wholeVectors(300, 20, 12);
    const path = join(scratch, `exact-${form.dtype}.bin`);
    const cpu = await filled(data, { dim: 20, ...form });
    cpu.remove([5]);
    await cpu.save(path);
    const gpu = await VectorIndex.open(path, { kind: "exact", device });
    await areSame([cpu, gpu], data.slice(0, 100), { topK: 10 });
  });
}

test("an index folder is searched on a GPU where it is said, and on the CPU where not", async () => {
  const corpus = join(scratch, "passages.jsonl");
  const words = ["river", "bank", "founder", "city", "opera", "story"];
  const lines = words.flatMap((a, i) =>
    words.map((b, j) => JSON.stringify({ id: `${i}-${j}`, title: a, text: `${a} ${b} ${i * j}` })),
  );
  await writeFile(corpus, lines.join("\n"));
  for (const [dtype, kind] of [
    ["bf16", "exact"],
    ["i8", "exact"],
    ["b1", "exact"],
    ["bf16", "hnsw"],
  ] as const) {
    const folder = join(scratch, `${kind}-${dtype}`);
    await buildIndex({ corpus, out: folder, dense: { kind, dtype } });
    const opened = openIndex(folder, { mode: "dense", vectorsDevice: device });
    if (kind === "hnsw") {
      await assert.rejects(opened, { code: "ERR_ARGUMENT", message: /expected kind exact for a GPU/ });
      continue;
    }
    const [cpu, gpu] = [await openIndex(folder, { mode: "dense" }), await opened];
    const queries = ["bank of the river", "opera"];
    const idsOf = (found: readonly (readonly Hit[])[]) => found.map((hits) => hits.map(({ id }) => id));
    assert.deepEqual(idsOf(await gpu(queries, { topK: 5 })), idsOf(await cpu(queries, { topK: 5 })));
    for (const search of [cpu, gpu]) search.close();
  }
});

test("what a GPU does not search is refused by name", async () => {
  const refused = (kind: "exact" | "hnsw", options: Partial<VectorIndexOptions>, message: RegExp): void => {
    assert.throws(() => VectorIndex.create(kind, { dim: 16, capacity: 1, device, ...options }), {
      code: "ERR_ARGUMENT",
      message,
    });
  };
  refused("hnsw", {}, /expected kind exact for a GPU/);
  refused("exact", { dtype: "f32" }, /expected vectors of dtype bf16, i8 or b1/);
  refused(
    "exact",
    { rescore: VectorIndex.create("exact", { dim: 16, capacity: 1, dtype: "i8" }) },
    /f32 or bf16/,
  );
  assert.throws(() => VectorIndex.create("exact", { dim: 16, capacity: 1, device: "gpu" }), {
    code: "ERR_DEVICE",
  });
  const index = await filled(wholeVectors(1001, 16, 13), { dim: 16, ...wholes, device });
  await assert.rejects(index.search(new Float32Array(16), { topK: 1001 }), {
    code: "ERR_RANGE",
    message: /at most 1000 candidates/,
  });
});
