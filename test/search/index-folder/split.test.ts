/** An index is split into parts that are together what it was. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { splitIndex } from "../../../lib/search/index-folder/change/split.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { peoplePassages } from "../people.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-split-"));
after(() => rm(root, { recursive: true }));
const passages = peoplePassages(220);

/** The bytes of an index's files. */
async function filesOf(folder: string): Promise<Map<string, string>> {
  const [name = ""] = await readdir(join(folder, "segments"));
  const path = join(folder, "segments", name);
  const files = (await readdir(path)).map(
    async (file) => [file, (await readFile(join(path, file))).toString("latin1")] as const,
  );
  return new Map(await Promise.all(files));
}

for (const [name, dtype] of [
  ["one form", "bf16"],
  ["two forms", "i8"],
] as const) {
  test(`parts merged are byte for byte the index, removed passages left out: vectors in ${name}`, async () => {
    const index = join(root, dtype);
    await buildIndex({ corpus: passages.slice(0, 150), out: index, dense: { dtype } });
    await addToIndex(index, passages.slice(150));
    const gone = ["p0", "p1", "p54", "p55", "p149", "p150", "p151", "p219"];
    await removeFromIndex(index, gone);
    const parts = await splitIndex(index, join(root, `${dtype}-parts`), { shards: 4 });
    const ids = passages.map(({ id }) => id).filter((id) => !gone.includes(id));
    for (const [i, part] of parts.entries()) {
      const opened = await openIndex(part);
      assert.deepEqual(opened.manifest.part, { index: i + 1, count: 4, first: 53 * i, total: 212 });
      const [hits = []] = await opened([`where was ${passages[100]?.title} born`], { topK: 53 });
      const own = hits.map(({ id }) => id).sort();
      assert.deepEqual(own, ids.slice(53 * i, 53 * (i + 1)).sort());
      opened.close();
    }
    await mergeIndexes(parts, join(root, `${dtype}-merged`));
    await mergeIndexes([index], index);
    assert.deepEqual(await filesOf(join(root, `${dtype}-merged`)), await filesOf(index));
  });
}

test("more parts than passages and a folder with an index are refused", async () => {
  const index = join(root, "small");
  await buildIndex({ corpus: passages.slice(0, 3), out: index });
  const out = join(root, "small-parts");
  await assert.rejects(splitIndex(index, out, { shards: 4 }), {
    code: "ERR_RANGE",
    message: "shards: expected at most 3, one a passage, got 4",
  });
  await splitIndex(index, out, { shards: 3 });
  await assert.rejects(splitIndex(index, out, { shards: 3 }), {
    code: "ERR_ARGUMENT",
    message:
      /small-parts\/1: expected no index yet, found one; remove it, or name another folder for the parts$/,
  });
  await assert.rejects(splitIndex(join(root, "none"), out, { shards: 1 }), { code: "ERR_IO" });
});

test("a split that cannot be whole leaves nothing, and can be made again", async () => {
  const index = join(root, "torn");
  await buildIndex({ corpus: passages.slice(0, 30), out: index });
  const out = join(root, "torn-parts");
  await mkdir(join(out, "2"), { recursive: true });
  await writeFile(join(out, "2", "notes.txt"), "");
  await assert.rejects(splitIndex(index, out, { shards: 3 }), {
    code: "ERR_ARGUMENT",
    message: /torn-parts\/2: expected a new or empty folder/,
  });
  assert.deepEqual(await readdir(out), ["2"]);
  await rm(join(out, "2"), { recursive: true });
  // A folder cannot stand where a file does, which only writing finds out.
  await writeFile(join(out, "3"), "");
  await assert.rejects(splitIndex(index, out, { shards: 3 }), { code: "ERR_IO" });
  assert.deepEqual(await readdir(out), ["3"]);
  await rm(join(out, "3"));
  const stop = new AbortController();
  const aborted = splitIndex(index, out, { shards: 3, signal: stop.signal, onProgress: () => stop.abort() });
  await assert.rejects(aborted, { code: "ERR_ABORTED" });
  assert.deepEqual(await readdir(out), []);
  assert.equal((await splitIndex(index, out, { shards: 3 })).length, 3);
});

test("parts in the folder of the index, or around it, are refused", async () => {
  const index = join(root, "around", "index");
  await buildIndex({ corpus: passages.slice(0, 4), out: index });
  await symlink(index, join(root, "link"));
  const before = await readdir(index);
  for (const out of [index, join(index, "parts", "new"), join(root, "around"), join(root, "link", "parts")])
    await assert.rejects(splitIndex(index, out, { shards: 2 }), {
      code: "ERR_ARGUMENT",
      message: /: expected a folder neither in the index .* nor around it; name a folder beside it$/,
    });
  assert.deepEqual(await readdir(index), before);
  assert.equal((await splitIndex(index, join(root, "around", "index-parts"), { shards: 2 })).length, 2);
});
