/** Files are written whole or not at all. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { checkFilePlace, writeFileAtomic } from "../../lib/base/files/files.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("a file is written with its folders, and nothing else is left beside it", async () => {
  const path = join(folder, "a/b/file.txt");
  await writeFileAtomic(path, "old");
  await writeFileAtomic(path, new TextEncoder().encode("né"));
  assert.equal(await readFile(path, "utf8"), "né");
  assert.deepEqual(await readdir(join(folder, "a/b")), ["file.txt"]);
});

test("parts are written in order, however many and large they are", async () => {
  const path = join(folder, "parts");
  const parts = Array.from({ length: 300 }, (_, i) => String.fromCharCode(97 + (i % 26)).repeat(10_000));
  await writeFileAtomic(path, parts);
  assert.equal(await readFile(path, "utf8"), parts.join(""));
});

test("a source that fails on the way leaves the old file as it was", async () => {
  const path = join(folder, "file");
  await writeFile(path, "old");
  async function* failing(): AsyncGenerator<string> {
    yield "x".repeat(3 << 20);
    throw new RangeError("no more");
  }
  await assert.rejects(writeFileAtomic(path, failing()), /no more/);
  assert.equal(await readFile(path, "utf8"), "old");
  assert.deepEqual(await readdir(folder), ["file"]);
});

test("the place of a folder is refused before anything is asked of the source", async () => {
  let isAsked = false;
  async function* source(): AsyncGenerator<string> {
    isAsked = true;
    yield "text";
  }
  const refusal = { code: "ERR_IO", message: `${folder}: expected a file to write, got a folder` };
  await assert.rejects(writeFileAtomic(folder, source()), refusal);
  await assert.rejects(checkFilePlace(folder), refusal);
  assert.equal(isAsked, false);
  await checkFilePlace(join(folder, "new", "file"));
});

test("a place that cannot be written is ERR_IO with its name", async () => {
  await writeFile(join(folder, "file"), "");
  const path = join(folder, "file", "below");
  await assert.rejects(writeFileAtomic(path, ""), { code: "ERR_IO", message: /below: cannot be written/ });
});
