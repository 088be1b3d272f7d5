/** GGUF files on a GPU, emulated: the numbers of every type are those of the CPU, and quantised weights too. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Model } from "../../lib/model/model.ts";
import { goldenRows, writeBlockModel } from "../model/gguf/block-model.ts";
import { gpuDevice } from "./device.ts";
import { ids } from "./models.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-gpu-gguf-"));
after(() => rmSync(folder, { recursive: true }));
const prompt = ids(20, 1).map((id) => id % 48);

for (const type of goldenRows().keys()) {
  test(`${type}: a GPU has the numbers of the CPU, and scores as with the same numbers in F32`, async () => {
    const paths = { own: join(folder, `${type}.gguf`), plain: join(folder, `${type}-plain.gguf`) };
    await writeBlockModel(paths, { hiddenSize: 256, feedForward: 256, isTied: false, typeOf: () => type });
    const onGpu = { device: gpuDevice, dtype: "bfloat16" } as const;
    await using gpu = await Model.load(paths.own, onGpu);
    await using plain = await Model.load(paths.plain, onGpu);
    await using cpu = await Model.load(paths.own, { dtype: "bfloat16" });
    for (const { name } of cpu.handle.tensors())
      assert.deepEqual(await gpu.parameter(name), await cpu.parameter(name), name);
    assert.deepEqual(await gpu.scoreLogprobs(prompt), await plain.scoreLogprobs(prompt));
    await using few = await Model.load(paths.own, { ...onGpu, weights: "int4" });
    await using fewOnCpu = await Model.load(paths.own, { dtype: "bfloat16", weights: "int4" });
    for (const { name } of fewOnCpu.handle.quantised())
      assert.deepEqual(await few.parameter(name), await fewOnCpu.parameter(name), name);
  });
}
