/** Files of zip archives, one of which Python's zipfile has written. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { archivePath, unpack } from "../../lib/data/files/zip.ts";
import { readQuestions } from "../../lib/data/question.ts";
import { projectRoot } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const archive = join(projectRoot, "test", "golden", "data", "questions.zip");
const options = { folder: join(folder, "unpacked") };

test("an archive is named like a folder, and a folder of such a name is none", async () => {
  assert.deepEqual(archivePath("a/data.zip/sets/dev.jsonl"), {
    archive: "a/data.zip",
    member: "sets/dev.jsonl",
  });
  assert.deepEqual(archivePath("a/data.ZIP"), { archive: "a/data.ZIP" });
  assert.equal(archivePath("a/data.zipped/dev.jsonl"), undefined);
  assert.deepEqual(archivePath("hf://datasets/o/n/data.zip/dev.jsonl#sha256=00"), {
    archive: "hf://datasets/o/n/data.zip#sha256=00",
    member: "dev.jsonl",
  });
  const named = join(folder, "old.zip");
  await mkdir(named);
  assert.equal(archivePath(join(named, "dev.jsonl")), undefined);
  assert.deepEqual(archivePath(join(named, "in.zip", "x")), { archive: join(named, "in.zip"), member: "x" });
});

test("deflated and stored files are unpacked byte for byte, once", async () => {
  const dev = await unpack({ archive, member: "sets/dev.jsonl" }, options);
  const questions = [];
  for await (const question of readQuestions(dev)) questions.push(question);
  assert.deepEqual([questions.length, questions[199]?.question], [200, "Où est 199 ?"]);
  const stored = await unpack({ archive, member: "test.jsonl" }, options);
  assert.equal(await readFile(stored, "utf8"), (await readFile(dev, "utf8")).split(/(?<=\n)/)[0]);
  const { mtimeMs } = await stat(dev);
  assert.equal(await unpack({ archive, member: "dev.jsonl" }, options), dev);
  assert.equal((await stat(dev)).mtimeMs, mtimeMs);
});

test("what is not there, or not the only one, is refused with the names there are", async () => {
  const names = /questions\.zip\/NAME for one of sets\/dev\.jsonl, sets\/test\.jsonl, got/;
  await assert.rejects(unpack({ archive }, options), { code: "ERR_ARGUMENT", message: names });
  await assert.rejects(unpack({ archive, member: "train.jsonl" }, options), { message: names });
  await assert.rejects(unpack({ archive: join(folder, "none.zip") }, options), { code: "ERR_IO" });
});

test("damaged archives are refused, and leave nothing behind", async () => {
  const bytes = await readFile(archive);
  const damaged = async (name: string, change: (copy: Buffer) => Buffer): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, change(Buffer.from(bytes)));
    return path;
  };
  // A byte of the stored file, whose content begins behind its name.
  const at = bytes.indexOf("sets/test.jsonl") + "sets/test.jsonl".length + 8;
  const flipped = await damaged("flipped.zip", (copy) => {
    copy[at] = (copy[at] ?? 0) ^ 1;
    return copy;
  });
  const own = { folder: join(folder, "none") };
  await assert.rejects(unpack({ archive: flipped, member: "test.jsonl" }, own), {
    code: "ERR_FORMAT",
    message: /flipped\.zip\/sets\/test\.jsonl: the content does not have the CRC/,
  });
  const cut = await damaged("cut.zip", (copy) => copy.subarray(0, copy.length / 2));
  await assert.rejects(unpack({ archive: cut }, own), {
    code: "ERR_FORMAT",
    message: /cut\.zip: cannot be read/,
  });
  const other = await damaged("text.zip", () => Buffer.from("no archive"));
  await assert.rejects(unpack({ archive: other }, own), { code: "ERR_FORMAT" });
  const aborted = { ...own, signal: AbortSignal.abort() };
  await assert.rejects(unpack({ archive, member: "dev.jsonl" }, aborted), { code: "ERR_ABORTED" });
  const left = existsSync(own.folder) ? await readdir(own.folder, { recursive: true }) : [];
  assert.deepEqual(
    left.filter((name) => name.includes("jsonl")),
    [],
  );
});

test("an archive that has changed is unpacked anew", async () => {
  const copy = join(folder, "copy.zip");
  await copyFile(archive, copy);
  const before = await unpack({ archive: copy, member: "test.jsonl" }, options);
  await writeFile(copy, Buffer.concat([await readFile(archive), Buffer.alloc(0)]));
  const { mtimeMs } = await stat(copy);
  const { utimes } = await import("node:fs/promises");
  await utimes(copy, new Date(), new Date(mtimeMs + 5000));
  assert.notEqual(await unpack({ archive: copy, member: "test.jsonl" }, options), before);
});
