/** The passage store: what comes back is what went in, and nothing half written or damaged is opened. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Passage } from "../../../lib/search/corpus/passage.ts";
import { PassageStore, PassageWriter, writePassageStore } from "../../../lib/search/corpus/passage-store.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-store-"));
after(() => rm(folder, { recursive: true }));
const path = join(folder, "passages.bin");

/** Lengths around those whose variable-length form grows by a byte, and text outside of ASCII. */
const passages: Passage[] = [0, 1, 127, 128, 16383, 16384, 70_000].flatMap((length, i) => [
  { id: "i".repeat(length), title: "t".repeat(length), text: "x".repeat(length) },
  { id: `${i}`, title: "Ärger 😀", text: `zero \0 and ${"é".repeat(length)}` },
]);

async function all(store: PassageStore): Promise<Passage[]> {
  const list: Passage[] = [];
  for await (const passage of store) list.push(passage);
  return list;
}

async function stored(list: Iterable<Passage>, name = "passages.bin"): Promise<PassageStore> {
  await writePassageStore(join(folder, name), list);
  return PassageStore.open(join(folder, name));
}

test("passages of any length come back by number, in lists and in order", async () => {
  const store = await stored(passages);
  assert.equal(store.size, passages.length);
  for (const [i, passage] of passages.entries()) assert.deepEqual(store.get(i), passage);
  const order = Int32Array.from([3, 0, 3, 13, 7]);
  assert.deepEqual(
    await store.getMany(order),
    Array.from(order, (i) => passages[i]),
  );
  assert.deepEqual(await all(store), passages);
  store.close();
});

test("a store of more passages than are kept in memory is whole", async () => {
  const count = 150_000;
  const made = (i: number): Passage => ({ id: `p${i}`, title: "", text: "ab".repeat(i % 7) });
  function* many(): Generator<Passage> {
    for (let i = 0; i < count; i += 1) yield made(i);
  }
  const store = await stored(many(), "many.bin");
  assert.equal(store.size, count);
  let next = 0;
  for await (const passage of store) {
    assert.deepEqual(passage, made(next));
    next += 1;
  }
  assert.equal(next, count);
  assert.deepEqual(
    await store.find(["p149999", "none", "p0", "p65536"]),
    Int32Array.from([149_999, -1, 0, 65_536]),
  );
  store.close();
});

test("an id that stands twice is found where it stands first; no passages make a store too", async () => {
  const twice = { id: "a", title: "", text: "" };
  const store = await stored([{ ...twice, id: "b" }, twice, twice], "twice.bin");
  assert.deepEqual(await store.find(["a", "a"]), Int32Array.from([1, 1]));
  store.close();
  const empty = await stored([], "empty.bin");
  assert.equal(empty.size, 0);
  assert.deepEqual(await all(empty), []);
  assert.throws(() => empty.get(0), { code: "ERR_RANGE" });
  empty.close();
});

test("a number without a passage is an ERR_RANGE, any call after close an ERR_STATE", async () => {
  const store = await stored(passages);
  for (const index of [-1, 0.5, Number.NaN, passages.length])
    assert.throws(() => store.get(index), { code: "ERR_RANGE" });
  await assert.rejects(store.getMany(Int32Array.of(0, passages.length)), {
    code: "ERR_RANGE",
    message: `passage: expected 0 to ${passages.length - 1}, got ${passages.length}`,
  });
  const reading = store.getMany(Int32Array.of(1));
  store.close();
  store.close();
  assert.deepEqual(await reading, [passages[1]]);
  assert.throws(() => store.get(0), { code: "ERR_STATE" });
  await assert.rejects(store.getMany(Int32Array.of(0)), { code: "ERR_STATE" });
  await assert.rejects(store.find(["a"]), { code: "ERR_STATE" });
});

test("a writer that does not finish leaves nothing and does not touch an older store", async () => {
  await writePassageStore(path, passages);
  const before = await readFile(path);
  const writer = PassageWriter.create(path);
  await writer.add(passages.slice(0, 2));
  assert.equal(writer.size, 2);
  writer.close();
  await assert.rejects(writer.finish(), { code: "ERR_STATE" });
  const stop = new AbortController();
  function* stopped(): Generator<Passage> {
    for (let i = 0; ; i += 1) {
      if (i === 5000) stop.abort();
      yield { id: `${i}`, title: "", text: "" };
    }
  }
  await assert.rejects(writePassageStore(path, stopped(), { signal: stop.signal }), { code: "ERR_ABORTED" });
  assert.deepEqual(await readFile(path), before);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => !name.endsWith(".bin")),
    [],
  );
});

test("half a surrogate pair is refused, as is a second call before the first has settled", async () => {
  const writer = PassageWriter.create(join(folder, "refused.bin"));
  await assert.rejects(writer.add([{ id: "bad", title: "\ud800", text: "" }]), {
    code: "ERR_ARGUMENT",
    message: /passage "bad"/,
  });
  const adding = writer.add(passages);
  await assert.rejects(writer.finish(), { code: "ERR_STATE" });
  await adding;
  await writer.finish();
  await assert.rejects(writer.add(passages), { code: "ERR_STATE" });
  await assert.rejects(writer.finish(), { code: "ERR_STATE" });
  writer.close();
});

test("any flipped bit and any cut is an ERR_FORMAT, another file too; a missing one an ERR_IO", async () => {
  const store = await stored(passages.slice(0, 6), "damaged.bin");
  store.close();
  const bytes = await readFile(join(folder, "damaged.bin"));
  const damaged = join(folder, "broken.bin");
  const isPadding = (at: number): boolean => at >= 80 && at < 128;
  for (let at = 0; at < bytes.length; at += 61) {
    if (isPadding(at)) continue;
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(bytes.readUInt8(at) ^ (1 << (at % 8)), at);
    await writeFile(damaged, flipped);
    await assert.rejects(PassageStore.open(damaged), { code: "ERR_FORMAT" }, `byte ${at}`);
    await writeFile(damaged, bytes.subarray(0, at));
    await assert.rejects(PassageStore.open(damaged), { code: "ERR_FORMAT" }, `cut at ${at}`);
  }
  await assert.rejects(PassageStore.open(join(folder, "none")), { code: "ERR_IO" });
  assert.throws(() => PassageWriter.create(join(folder, "no", "folder")), { code: "ERR_IO" });
});
