import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Journal } from "../../../lib/base/files/journal.ts";
import { latestCheckpoint, removeLeftovers, writeCheckpoint } from "../../../lib/train/run/checkpoint.ts";
import { withFolder } from "./kill.ts";

const content = (step: number, text = "weights") => ({
  step,
  state: { note: `after ${step}` },
  write: (folder: string) => writeFile(join(folder, "weights"), text),
});

test("the newest checkpoints are kept and the newest of all is found", async () => {
  await withFolder(async (root) => {
    for (const step of [5, 10, 15]) await writeCheckpoint(root, content(step), { keep: 2 });
    assert.deepEqual((await readdir(root)).sort(), ["step-000010", "step-000015"]);
    const latest = await latestCheckpoint(root);
    assert.equal(latest?.step, 15);
    assert.equal(latest?.state.note, "after 15");
  });
});

test("a folder that a kill left half written is never taken for a checkpoint", async () => {
  await withFolder(async (root) => {
    assert.equal(await latestCheckpoint(join(root, "missing")), undefined);
    await writeCheckpoint(root, content(5));
    await mkdir(join(root, ".writing-step-000010"));
    await writeFile(join(root, ".writing-step-000010", "weights"), "half");
    await mkdir(join(root, ".removing-step-000001"));
    assert.equal((await latestCheckpoint(root))?.step, 5);
    await removeLeftovers(root);
    assert.deepEqual(await readdir(root), ["step-000005"]);
  });
});

test("a failure while writing leaves the checkpoint of before", async () => {
  await withFolder(async (root) => {
    await writeCheckpoint(root, content(5));
    const broken = {
      ...content(10),
      write: async () => {
        throw new Error("disk full");
      },
    };
    await assert.rejects(writeCheckpoint(root, broken), /disk full/);
    assert.deepEqual(await readdir(root), ["step-000005"]);
    assert.equal((await latestCheckpoint(root))?.step, 5);
  });
});

test("the same step written twice holds the second content", async () => {
  await withFolder(async (root) => {
    await writeCheckpoint(root, content(5, "first"));
    const folder = await writeCheckpoint(root, content(5, "second"));
    assert.equal(await readFile(join(folder, "weights"), "utf8"), "second");
  });
});

test("a log goes on where the checkpoint left it", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "metrics.jsonl");
    const log = await Journal.open(path, 0);
    await log.add({ step: 1 });
    const { bytes } = log;
    await log.add({ step: 2 }, { step: 3 });
    await log.close();
    const again = await Journal.open(path, bytes);
    await again.add({ step: 4 });
    await again.close();
    assert.equal(await readFile(path, "utf8"), '{"step":1}\n{"step":4}\n');
    await assert.rejects(Journal.open(path, 1000), { code: "ERR_FORMAT" });
  });
});
