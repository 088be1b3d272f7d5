/** A download of `seekrl setup cuda` that breaks off, and goes on in the same set-up and in the next one. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { test } from "node:test";
import { fakeIndex, wheelsOfCuda13 } from "./fake-torch.ts";
import { machine, scratch, setUp, skip } from "./machine.ts";

test("a download that breaks off goes on where it was, in the same set-up and in the next one", {
  skip,
}, async () => {
  const { env, cache } = await machine();
  const index = await fakeIndex({ cu130: await wheelsOfCuda13(scratch) });
  try {
    index.breakOff = 2;
    const { said, built } = await setUp({ env, index: index.url });
    assert.match(said, /torch-2\.13\.0\+cu130\S+: .*; trying again/);
    assert.equal(built.length, 1);
    assert.equal(index.requests.filter((each) => /torch-2.* bytes=[1-9]\d*-$/.test(each)).length, 2);

    await rm(cache, { recursive: true });
    index.breakOff = 4;
    await assert.rejects(setUp({ env, index: index.url }), {
      code: "ERR_REMOTE",
      message: /Remedy: run the same command again; it goes on where it was/,
    });
    const before = index.requests.length;
    assert.equal((await setUp({ env, index: index.url })).built.length, 1);
    assert.match(
      index.requests.slice(before).find((each) => /^\S+torch-2\S+whl( |$)/.test(each)) ?? "",
      / bytes=[1-9]/,
    );
  } finally {
    index.close();
  }
});
