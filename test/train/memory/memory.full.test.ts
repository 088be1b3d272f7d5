/** Peaks of loading and of training, measured by the system in a process of its own and compared with the plan. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model } from "../../../lib/model/model.ts";
import { activationBytes } from "../../../lib/train/memory/activations.ts";
import { numParameters, trainingMemory } from "../../../lib/train/memory/plan.ts";
import { measurePeak } from "./peak.ts";

/** 62 million weights: 125 MB in bfloat16. */
const shape = {
  vocabSize: 32_000,
  hiddenSize: 512,
  intermediateSize: 2048,
  numLayers: 12,
  numHeads: 8,
  numKvHeads: 2,
  tieEmbeddings: true,
};

let folder = "";
let config: Model["config"];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-memory-"));
  await native().setNumThreads(2);
  await using model = await Model.create(shape, { dtype: "bfloat16" });
  config = model.config;
  await model.save(folder);
});

after(() => rm(folder, { recursive: true, force: true }));

test("loading a folder takes the weights' own size and a tenth", async () => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    const weights = numParameters(config) * (dtype === "float32" ? 4 : 2);
    const { before: held, peak } = await measurePeak({ folder, dtype });
    // Some MB of code and heap are touched for the first time, whatever the model.
    assert.ok(
      peak - held < 1.1 * weights + 8e6,
      `${dtype}: ${(peak - held) / 1e6} MB for ${weights / 1e6} MB`,
    );
  }
});

test("the plan of a training is within a tenth of its peak, in every form", async () => {
  const batch = { tokens: 512, rows: 153 };
  const small = activationBytes({ config, dtype: "bfloat16" }, batch, 11);
  const forms = [
    { dtype: "float32" },
    { dtype: "bfloat16" },
    { dtype: "bfloat16", moments: "8-bit" },
    { dtype: "bfloat16", masterWeights: false },
    { dtype: "bfloat16", moments: "8-bit", masterWeights: false, activationBytes: small },
  ] as const;
  for (const { dtype, ...options } of forms) {
    const { total } = trainingMemory({ config, dtype, batch, ...options });
    const given = { activationBytes: 1e12, ...options };
    const { peak } = await measurePeak({ folder, dtype, options: given, ...batch });
    const share = total / peak;
    const told = `${JSON.stringify({ dtype, ...options })}: planned ${total / 1e6} MB, took ${peak / 1e6} MB`;
    assert.ok(share > 0.9 && share < 1.1, told);
  }
});

test("the plan of a training with experts is within a tenth of its peak", async () => {
  const sizes = {
    architecture: "Qwen3MoeForCausalLM",
    ...{ vocabSize: 1000, hiddenSize: 256, intermediateSize: 256, numLayers: 6, numHeads: 4, numKvHeads: 2 },
    ...{ numExperts: 16, numChosenExperts: 8, tieEmbeddings: true },
  } as const;
  const moeFolder = join(folder, "experts");
  await using model = await Model.create(sizes);
  await model.save(moeFolder);
  const batch = { tokens: 2048, rows: 300 };
  for (const dtype of ["float32", "bfloat16"] as const) {
    const plain = { config: model.config, dtype };
    for (const bytes of [1e12, activationBytes(plain, batch, 3)]) {
      const { total } = trainingMemory({ ...plain, batch, activationBytes: bytes });
      const given = { folder: moeFolder, dtype, options: { activationBytes: bytes }, ...batch };
      const { peak } = await measurePeak(given);
      const told = `${dtype}, ${bytes / 1e6} MB to keep: planned ${total / 1e6} MB, took ${peak / 1e6} MB`;
      assert.ok(total > 0.9 * peak && total < 1.1 * peak, told);
    }
  }
});

test("the plan of an adapter's training is within a tenth of its peak, on weights of every form", async () => {
  const batch = { tokens: 512, rows: 153 };
  for (const weights of [undefined, "int8", "nf4"] as const) {
    await using model = await Model.load(folder, { dtype: "bfloat16", weights });
    await using adapter = await Adapter.create(model, { rank: 16 });
    const form = { dtype: "bfloat16", weights, adapterParameters: adapter.numParameters } as const;
    const { total } = trainingMemory({ config, ...form, batch });
    const options = { activationBytes: 1e12 };
    const { peak } = await measurePeak({ folder, dtype: "bfloat16", weights, rank: 16, options, ...batch });
    const told = `${weights ?? "bfloat16"}: planned ${total / 1e6} MB, took ${peak / 1e6} MB`;
    assert.ok(total > 0.9 * peak && total < 1.1 * peak, told);
  }
});
