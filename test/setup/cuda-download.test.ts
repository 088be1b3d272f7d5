/** What `seekrl setup cuda` does where a download goes wrong. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fakeIndex, wheelsOfCuda13 } from "./fake-torch.ts";
import { machine, scratch, setUp, skip } from "./machine.ts";

test("a wheel that is another than the index says is thrown away", { skip }, async () => {
  const { env, cache } = await machine();
  const wheels = await wheelsOfCuda13(scratch);
  const wrong = wheels.map((each) =>
    each.name === "nvidia-cublas" ? { ...each, sha256: "0".repeat(64) } : each,
  );
  const index = await fakeIndex({ cu130: wrong });
  try {
    await assert.rejects(setUp({ env, index: index.url }), {
      code: "ERR_FORMAT",
      message: /nvidia_cublas-13\.1\.0\.3\S+: expected the sha256 0{64}, got [0-9a-f]{64}\. Remedy/,
    });
    const kept = await readdir(join(cache, "downloads"));
    assert.ok(
      kept.some((name) => name.startsWith("torch-")) && !kept.some((name) => name.includes("cublas")),
    );
  } finally {
    index.close();
  }
});

test("an index without a torch of a minor version that compiles, or without a library, is named", {
  skip,
}, async () => {
  const { env } = await machine();
  const wheels = await wheelsOfCuda13(scratch);
  const index = await fakeIndex({
    cu130: wheels.filter(({ name, version }) => name !== "torch" || !version.startsWith("2.13")),
    cu128: [],
  });
  const lacking = await fakeIndex({ cu130: wheels.filter(({ name }) => name !== "nvidia-cublas") });
  try {
    await assert.rejects(setUp({ env, index: index.url }), {
      code: "ERR_REMOTE",
      message: /no torch 2\.11 to 2\.13 of cu130, cu128, cu126 was found at .*--index/,
    });
    await assert.rejects(setUp({ env, index: lacking.url }), {
      code: "ERR_REMOTE",
      message: /nvidia-cublas\/: expected a wheel <=13\.1\.1\.3,>=13\.1\.0\.3 for \w+, got none/,
    });
    await assert.rejects(setUp({ env, index: "http://127.0.0.1:9" }), {
      code: "ERR_REMOTE",
      message: /--index/,
    });
  } finally {
    index.close();
    lacking.close();
  }
});

test("an index without metadata beside its wheels has what the toolkit's wheel asks for all the same", {
  skip,
}, async () => {
  const { env } = await machine();
  const bare = (await wheelsOfCuda13(scratch)).map((wheel) => ({ ...wheel, hasMetadata: false }));
  const index = await fakeIndex({ cu130: bare });
  try {
    assert.equal((await setUp({ env, index: index.url })).built.length, 1);
  } finally {
    index.close();
  }
});
