/** What a model folder says of its world. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readWorldFile, recipeOfWorld, writeWorldFile } from "../../apps/world/world-file.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

test("a world's setting is read back, and makes the recipe its model was trained by", async () => {
  assert.equal(await readWorldFile(folder), undefined, "any other model");
  const setting = { seed: 3, queries: "single", search: "patchy" } as const;
  await writeWorldFile(folder, setting);
  assert.deepEqual(await readWorldFile(folder), setting);
  assert.equal(recipeOfWorld(setting).format.mode, "single");
  assert.ok(recipeOfWorld(setting).searchThrough);
  const plain = recipeOfWorld({ seed: 0, search: "plain" });
  assert.equal(plain.format.mode, "multi");
  assert.equal(plain.searchThrough, undefined);
});

test("a world.json that says something else is named", async () => {
  await writeFile(join(folder, "world.json"), '{"seed": "three"}');
  await assert.rejects(readWorldFile(folder), { code: "ERR_FORMAT", message: /world\.json: expected/ });
});
