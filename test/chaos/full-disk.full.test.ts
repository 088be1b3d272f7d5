/** A disk that fills up at each save: one typed error with a remedy, and what was there stays as it was. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { disk, skip } from "../package/broken/disks.ts";

const program = fileURLToPath(new URL("full-disk-run.js", import.meta.url));

for (const name of ["model", "adapter", "rows", "addition", "merge", "training"]) {
  test(`a disk that is full at a save loses nothing, and the same goes on once there is room: ${name}`, {
    skip,
  }, async () => {
    const place = await disk("full", 32 * 1024);
    const { stdout, stderr } = await place.run([program, name]);
    assert.equal(stdout, "done\n", stderr);
  });
}
