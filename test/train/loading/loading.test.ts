/** Ranks that share weights out read from the files what they keep. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { digestOf } from "./digest.ts";
import { golden, load } from "./shares.ts";

test("policy and critic that two ranks each read a share of have the bits of the whole model", async () => {
  const path = join(golden, "llama");
  await using expected = await Model.load(path);
  const digest = await digestOf(expected);
  for (const { digests } of await load(2, { folder: path, hasCritic: true, isTold: true }))
    assert.deepEqual(digests, [digest, digest]);
});
