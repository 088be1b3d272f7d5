/** Numbers that are not finite are refused where they are read, by file, tensor, value and place. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { native } from "../../lib/base/addon/native.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import { findWeights } from "../../lib/model/model-folder.ts";
import { readSafetensorsHeader } from "../../lib/model/safetensors.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { withFolder } from "../train/run/kill.ts";
import { filled, tinyModel, tinySequence } from "../train/tiny.ts";
import { withValues } from "./gguf/tiny.ts";

const up = "model.layers.1.mlp.up_proj.weight";
const ids = Int32Array.of(1, 2, 3);

/** Replaces one number of the tensor whose name ends so. */
async function damage(path: string, end: string, place: number, bytes: readonly number[]): Promise<void> {
  const { offset } = (await readSafetensorsHeader(path)).find(({ name }) => name.endsWith(end))!;
  const file = await readFile(path);
  file.set(bytes, offset + place * bytes.length);
  await writeFile(path, file);
}

const nan32 = [0, 0, 0xc0, 0x7f];
const infinity32 = [0, 0, 0x80, 0x7f];

async function allOf(policy: Model | Adapter): Promise<Float32Array[]> {
  return await Promise.all(policy.handle.tensors().map(({ name }) => policy.parameter(name)));
}

test("a weight that is not finite, or would not be as bfloat16, is refused with its file, tensor, value and place", async () => {
  const forms = [
    ["float32", nan32, "float32", /model\.safetensors: .*1\.mlp\.up_proj\.weight: .*got -?nan at place 17$/],
    ["float32", infinity32, "bfloat16", /got inf at place 17$/],
    ["float32", [0xff, 0xff, 0x7f, 0x7f], "bfloat16", /of BFloat16, got 3\.40282e\+38 at place 17$/],
    ["bfloat16", [0x80, 0xff], "float32", /got -inf at place 17$/],
    ["float16", [0, 0x7e], "float32", /got -?nan at place 17$/],
  ] as const;
  for (const [stored, bytes, dtype, message] of forms) {
    await withFolder(async (folder) => {
      await using model = await tinyModel();
      await model.save(folder, { dtype: stored });
      await damage(join(folder, "model.safetensors"), up, 17, bytes);
      await assert.rejects(Model.load(folder, { dtype }), { code: "ERR_RANGE", message });
      const before = await allOf(model);
      if (dtype === "float32") {
        const reading = native().readWeights(model.handle, await findWeights(folder));
        await assert.rejects(reading, { code: "ERR_RANGE", message });
        assert.deepEqual(await allOf(model), before, "a refused folder changes nothing");
      }
    });
  }
});

test("scales of quantised weights that are not finite are refused", async () => {
  const forms = [
    ["int8", "up_proj.weight.scales", nan32],
    ["int4", "up_proj.weight.scales", [0, 0x7c]],
    ["nf4", "up_proj.weight.absmax_scales", nan32],
    ["nf4", "up_proj.weight.absmax_mean", infinity32],
  ] as const;
  for (const [weights, part, bytes] of forms) {
    await withFolder(async (folder) => {
      await using model = await Model.create((await tinyModel()).config, { weights });
      await model.save(folder);
      await damage(join(folder, "model.safetensors"), part, 0, bytes);
      const message = new RegExp(`${part.replaceAll(".", "\\.")}: expected finite numbers`);
      await assert.rejects(Model.load(folder), { code: "ERR_RANGE", message });
    });
  }
});

test("numbers of GGUF's blocks that are not finite are refused", async () => {
  const plain = new Uint8Array(4 * 4 * 256);
  plain.set(nan32, 4 * 300);
  // 34 bytes for 32 numbers, a scale in f16 first.
  const blocks = new Uint8Array(4 * 8 * 34);
  blocks.set([0, 0x7c], 34 * 9);
  const tensors = [
    { type: "F32", bytes: plain },
    { type: "Q8_0", bytes: blocks },
  ];
  await withFolder(async (folder) => {
    const path = join(folder, "x.gguf");
    for (const tensor of tensors) {
      await writeFile(path, withValues(tensor));
      for (const options of [{}, { weights: "int8" }] as const)
        await assert.rejects(Model.load(path, options), {
          code: "ERR_RANGE",
          message: /x\.gguf: model\.layers\.0\.self_attn\.v_proj\.weight: .*finite/,
        });
    }
  });
});

test("an adapter that is not finite is refused, and the one that reads it keeps its numbers", async () => {
  await withFolder(async (folder) => {
    await using model = await tinyModel();
    await using adapter = await Adapter.create(model, { rank: 2, seed: 1 });
    await using other = await Adapter.create(model, { rank: 2, seed: 2 });
    await other.save(folder);
    await damage(join(folder, "adapter_model.safetensors"), "1.mlp.up_proj.lora_B.weight", 3, nan32);
    const refused = { code: "ERR_RANGE", message: /up_proj\.lora_B\.weight: .*got -?nan at place 3$/ };
    await assert.rejects(Adapter.load(model, folder), refused);
    const before = await allOf(adapter);
    await assert.rejects(adapter.read(folder), refused);
    assert.deepEqual(await allOf(adapter), before);
  });
});

test("an optimiser's state that is not finite is refused, in every form of the moments", async () => {
  const sequence = tinySequence(1, 24);
  const weighted = { ...sequence, weights: filled(sequence.rows.length, () => 1 / sequence.rows.length) };
  const forms = [
    ["float32", `adamw.m.${up}`],
    ["float32", `adamw.v.${up}`],
    ["8-bit", `adamw.m8.${up}.scale`],
    ["8-bit", `adamw.root8.${up}.scale`],
  ] as const;
  for (const [moments, name] of forms) {
    await withFolder(async (folder) => {
      const path = join(folder, "state.safetensors");
      await using model = await tinyModel();
      await using trainer = await Trainer.open(model, { moments });
      await trainer.accumulate([weighted]);
      await trainer.step({ learningRate: 1e-3 });
      await trainer.saveState(path);
      await damage(path, name, 0, nan32);
      await assert.rejects(trainer.loadState(path, 1), {
        code: "ERR_RANGE",
        message: /adamw\..*got -?nan at place 0$/,
      });
      await trainer.accumulate([weighted]);
      assert.ok(Number.isFinite((await trainer.step({ learningRate: 1e-3 })).gradNorm));
    });
  }
});

test("log-probabilities that are not finite are refused", async () => {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  await trainer.accumulate([{ tokens: ids, rows: Int32Array.of(0), weights: Float32Array.of(1) }]);
  await trainer.step({ learningRate: 1e38 });
  await assert.rejects(model.scoreLogprobs(ids), {
    code: "ERR_RANGE",
    message: /^score: expected finite log-probabilities, got -?nan/,
  });
});

test("moments and scales that no gradients leave are refused, and counts below zero; nothing changes", async () => {
  const minusOne = [0, 0, 0x80, 0xbf];
  const huge = [0xff, 0xff, 0x7f, 0x7f];
  const forms = [
    ["float32", `adamw.m.${up}`, huge, /from -9\.22337e\+18 to 9\.22337e\+18, got 3\.40282e\+38 at place 1$/],
    ["float32", `adamw.v.${up}`, minusOne, /from 0 to 8\.50706e\+37, got -1 at place 1$/],
    ["float32", `adamw.v.${up}`, huge, /got 3\.40282e\+38 at place 1$/],
    ["8-bit", `adamw.m8.${up}.scale`, minusOne, /from 0 to 9\.22337e\+18, got -1 at place 1$/],
    ["8-bit", `adamw.root8.${up}.scale`, minusOne, /got -1 at place 1$/],
    ["8-bit", `adamw.root8.${up}.scale`, huge, /got 3\.40282e\+38 at place 1$/],
  ] as const;
  for (const [moments, name, bytes, message] of forms) {
    await withFolder(async (folder) => {
      const [path, again] = [join(folder, "state.safetensors"), join(folder, "again.safetensors")];
      await using model = await tinyModel();
      await using trainer = await Trainer.open(model, { moments });
      await trainer.saveState(path);
      const before = await readFile(path);
      await assert.rejects(trainer.loadState(path, -1), { code: "ERR_RANGE", message: /numSteps.*-1/ });
      await damage(path, name, 1, bytes);
      await assert.rejects(trainer.loadState(path, 1), { code: "ERR_RANGE", message });
      await trainer.saveState(again);
      assert.deepEqual(await readFile(again), before);
    });
  }
});
