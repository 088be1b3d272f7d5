/** What a training's plan counts weights as. Peaks that are measured stand in memory.full. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { numParameters, weightBytes } from "../../../lib/train/memory/plan.ts";
import { tinyModel } from "../tiny.ts";

const shape = {
  vocabSize: 4000,
  hiddenSize: 256,
  intermediateSize: 1024,
  numLayers: 3,
  numHeads: 8,
  numKvHeads: 2,
  tieEmbeddings: true,
};

let folder = "";
let config: Model["config"];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-memory-"));
  await using model = await Model.create(shape, { dtype: "bfloat16" });
  config = model.config;
  await model.save(folder);
});

after(() => rm(folder, { recursive: true, force: true }));

test("the number of weights follows from the shape, and their bytes from their form", async () => {
  await using model = await tinyModel();
  assert.equal(numParameters(model.config), model.numParameters);
  assert.equal(weightBytes(model.config, "bfloat16"), 2 * model.numParameters);
  for (const weights of ["int8", "int4", "nf4"] as const) {
    await using few = await Model.load(folder, { dtype: "bfloat16", weights });
    const [quantised, plain] = [few.handle.quantised().flatMap(({ parts }) => parts), few.handle.tensors()];
    const size = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);
    const bytes = { U8: 1, F16: 2, F32: 4 };
    const held =
      quantised.reduce((sum, { shape, dtype }) => sum + size(shape) * bytes[dtype], 0) +
      plain.reduce((sum, { shape }) => sum + size(shape) * 2, 0);
    const planned = weightBytes(config, "bfloat16", weights);
    assert.ok(Math.abs(planned - held) < 0.01 * held, `${weights}: planned ${planned}, are ${held}`);
  }
});
