/** Quantised weights on a GPU, emulated: the bits of their numbers in bf16, law 4, adapters over them, files. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { filled } from "../train/tiny.ts";
import { gpuDevice } from "./device.ts";
import { ids, modelOn, relativeDifference, scoresOf, shapes } from "./models.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-gpu-"));
after(() => rmSync(folder, { recursive: true }));
const shape = shapes["norms of heads, part of each turned"]!;
// Untied, and of a vocabulary that is no multiple of 8.
const rows = Int32Array.from({ length: 20 }, (_, i) => i + 3);
const batch = [{ tokens: ids(24, 7), rows, weights: filled(20, () => 1 / 20) }];

for (const weights of ["int8", "int4", "nf4"] as const) {
  test(`${weights}: a GPU generates in batches of all sizes with the bits of training, and scores as the CPU does`, async () => {
    await using gpu = await modelOn(gpuDevice, shape, weights);
    await using cpu = await modelOn("cpu", shape, weights);
    const [expected, actual] = [await cpu.scoreLogprobs(ids(90, 1)), await gpu.scoreLogprobs(ids(90, 1))];
    // The CPU rounds activations to 8 bits before products of int8 and int4, a GPU codes times scales to bf16.
    for (let i = 1; i < 90; i += 1) assert.ok(Math.abs(actual[i]! - expected[i]!) < 0.12, `token ${i}`);
    await using engine = await Engine.open(gpu, { blockTokens: 16, maxBatchTokens: 100 });
    const spans = await Promise.all(
      [5, 70, 30].map(async (length, i) => {
        await using sequence = engine.open(ids(length, i), { seed: i });
        return await sequence.generate({ maxTokens: 5, temperature: 0.8 });
      }),
    );
    for (const [i, span] of spans.entries()) {
      const length = [5, 70, 30][i]!;
      assert.deepEqual(await scoresOf(gpu, ids(length, i), span.ids, 0.8), span.logprobs);
    }
  });

  test(`${weights}: an adapter is trained over frozen weights on a GPU as on the CPU, and generates with their bits`, async () => {
    const train = async (device: string) => {
      await using model = await modelOn(device, shape, weights);
      await using adapter = await Adapter.create(model, { rank: 8, alpha: 16, seed: 2 });
      await using trainer = await Trainer.open(adapter);
      await trainer.accumulate(batch, {});
      const gradient = await trainer.gradient(
        "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight",
      );
      await trainer.step({ learningRate: 1e-2 });
      const { loss } = await trainer.accumulate(batch, {});
      await using engine = await Engine.open(adapter, { blockTokens: 16 });
      await using sequence = engine.open(ids(12, 3), { seed: 1 });
      const span = await sequence.generate({ maxTokens: 4 });
      const tokens = Int32Array.of(...ids(12, 3), ...span.ids);
      const drawn = Int32Array.from(span.ids, (_, i) => 11 + i);
      assert.deepEqual(await trainer.logprobs([{ tokens, rows: drawn }]), [span.logprobs]);
      return { gradient, loss };
    };
    const [gpu, cpu] = [await train(gpuDevice), await train("cpu")];
    assert.ok(Math.abs(gpu.loss / cpu.loss - 1) < 0.01, `${gpu.loss}, ${cpu.loss}`);
    assert.ok(relativeDifference(cpu.gradient, gpu.gradient) < 0.1);
  });

  test(`${weights}: what a GPU writes is what the CPU writes, and loads on either`, async () => {
    const stored = { ...shape, rotaryDim: 64 };
    await using gpu = await modelOn(gpuDevice, stored, weights);
    await using cpu = await modelOn("cpu", stored, weights);
    const path = join(folder, weights);
    await gpu.save(path);
    await using onGpu = await Model.load(path, { device: gpuDevice, dtype: "bfloat16" });
    await using onCpu = await Model.load(path, { dtype: "bfloat16" });
    for (const { name } of cpu.handle.quantised()) {
      const expected = await cpu.parameter(name);
      assert.deepEqual(await gpu.parameter(name), expected);
      assert.deepEqual(await onCpu.parameter(name), expected);
    }
    assert.deepEqual(await onGpu.scoreLogprobs(ids(20, 2)), await gpu.scoreLogprobs(ids(20, 2)));
  });
}

test("quantised experts and a tied head of a GPU generate with the bits of training", async () => {
  for (const name of ["four experts, each weighed", "Gemma's norms, bounds and windows"]) {
    await using gpu = await modelOn(gpuDevice, shapes[name]!, "int4");
    await using engine = await Engine.open(gpu, { blockTokens: 16 });
    await using sequence = engine.open(ids(30, 2), { seed: 1 });
    const span = await sequence.generate({ maxTokens: 4 });
    assert.deepEqual(await scoresOf(gpu, ids(30, 2), span.ids), span.logprobs);
  }
});

test("quantised inputs that are no multiple of 8 are refused on a GPU", async () => {
  await assert.rejects(modelOn(gpuDevice, { ...shape, intermediateSize: 100 }, "int8"), {
    code: "ERR_SHAPE",
    message: /multiple of 8/,
  });
});
