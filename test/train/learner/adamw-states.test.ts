/** The forms in which AdamW keeps weights and moments: what they store, that they learn, that they resume. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { readSafetensorsHeader } from "../../../lib/model/safetensors.ts";
import type { AdamWOptions } from "../../../lib/train/learner/learner-options.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { withFolder } from "../run/kill.ts";
import { filled, tinyModel, tinySequence } from "../tiny.ts";
import { readJson } from "./golden.ts";

const name = "model.layers.0.mlp.up_proj.weight";

/** Every form, with its bytes a weight besides the weight itself and its gradient. */
const forms: readonly { dtype: Model["dtype"]; options: AdamWOptions; bytes: number }[] = [
  { dtype: "float32", options: {}, bytes: 8 },
  { dtype: "float32", options: { moments: "8-bit" }, bytes: 2 },
  { dtype: "bfloat16", options: {}, bytes: 10 },
  { dtype: "bfloat16", options: { masterWeights: false }, bytes: 8 },
  { dtype: "bfloat16", options: { moments: "8-bit" }, bytes: 4 },
  { dtype: "bfloat16", options: { moments: "8-bit", masterWeights: false }, bytes: 2 },
];

function weighted(seed: number) {
  const sequence = tinySequence(seed, 24);
  return { ...sequence, weights: filled(sequence.rows.length, () => 1 / sequence.rows.length) };
}

async function train(trainer: Trainer, from: number, to: number): Promise<number> {
  let loss = 0;
  for (let step = from; step < to; step += 1) {
    loss = (await trainer.accumulate([weighted(step % 2)])).loss;
    await trainer.step({ learningRate: 1e-2 });
  }
  return loss;
}

async function stored(folder: string, tensor: string): Promise<Uint8Array> {
  const path = join(folder, "state.safetensors");
  const place = (await readSafetensorsHeader(path)).find((one) => one.name === tensor)!;
  const bytes = place.shape.reduce((size, n) => size * n, place.dtype === "U8" ? 1 : 4);
  return (await readFile(path)).subarray(place.offset, place.offset + bytes);
}

test("each form resumes bit for bit, and its file has its bytes a weight", async () => {
  for (const { dtype, options, bytes } of forms) {
    await withFolder(async (folder) => {
      const path = join(folder, "state.safetensors");
      await using model = await tinyModel(1, dtype);
      await using trainer = await Trainer.open(model, options);
      await train(trainer, 0, 3);
      await trainer.saveState(path);
      await model.save(folder);
      const held = (await readFile(path)).length - (await readFile(path)).readUInt32LE(0) - 8;
      // A scale of 4 bytes for every 256 weights, and the last of each weight matrix.
      assert.ok(held >= bytes * model.numParameters && held < (bytes + 1) * model.numParameters, `${held}`);
      await using copy = await Model.load(folder, { dtype });
      await using resumed = await Trainer.open(copy, options);
      await resumed.loadState(path, trainer.numSteps);
      assert.equal(await train(resumed, 3, 6), await train(trainer, 3, 6));
      for (const tensor of model.handle.tensors()) {
        assert.deepEqual(await copy.parameter(tensor.name), await model.parameter(tensor.name), tensor.name);
      }
    });
  }
});

test("states in a mapped file have the bits of those in memory, and the folder holds nothing afterwards", async () => {
  for (const { dtype, options } of forms) {
    await withFolder(async (folder) => {
      const states: Buffer[] = [];
      const weights: Float32Array[] = [];
      for (const stateFolder of [undefined, folder]) {
        await using model = await tinyModel(1, dtype);
        await using trainer = await Trainer.open(model, { ...options, stateFolder });
        assert.deepEqual(await readdir(folder), [], "the files have no names");
        await train(trainer, 0, 3);
        await withFolder(async (other) => {
          const path = join(other, "state.safetensors");
          await trainer.saveState(path);
          states.push(await readFile(path));
        });
        weights.push(await model.parameter(name));
      }
      assert.deepEqual(states[1], states[0]);
      assert.deepEqual(weights[1], weights[0]);
      await using model = await tinyModel(1, dtype);
      const missing = Trainer.open(model, { ...options, stateFolder: join(folder, "missing") });
      await assert.rejects(missing, { code: "ERR_IO", message: /missing.*: cannot be created/ });
    });
  }
});

test("each form learns what float32 learns", async () => {
  const losses: number[] = [];
  for (const { dtype, options } of forms) {
    await using model = await tinyModel(1, dtype);
    await using trainer = await Trainer.open(model, options);
    losses.push(await train(trainer, 0, 60));
  }
  const [float32 = 0] = losses;
  assert.ok(float32 < 0.5, "it has learnt");
  for (const loss of losses) assert.ok(Math.abs(loss - float32) < 0.1, losses.join(" "));
});

test("8-bit moments are the nearest values of bitsandbytes' map", async () => {
  const maps = readJson<{ signed: number[]; unsigned: number[] }>("dynamic-map.json");
  const [positive, negative] = [
    maps.signed.filter((x) => x >= 0),
    maps.signed.filter((x) => x < 0).reverse(),
  ];
  const firstOf = (code: number): number =>
    code === 128 ? 1 : code < 128 ? positive[code]! : negative[code - 129]!;
  const nearest = (map: readonly number[], x: number): number =>
    map.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best));
  await withFolder(async (folder) => {
    await using model = await tinyModel();
    await using trainer = await Trainer.open(model, { moments: "8-bit", maxGradNorm: 0 });
    await trainer.accumulate([weighted(1)]);
    const gradient = await trainer.gradient(name);
    await trainer.step({ learningRate: 1e-3 });
    await trainer.saveState(join(folder, "state.safetensors"));
    const scaleOf = async (kind: string): Promise<number[]> => {
      const bytes = Uint8Array.from(await stored(folder, `adamw.${kind}8.${name}.scale`));
      return [...new Float32Array(bytes.buffer)];
    };
    const [first, root] = [
      await stored(folder, `adamw.m8.${name}`),
      await stored(folder, `adamw.root8.${name}`),
    ];
    const [firstScales, rootScales] = [await scaleOf("m"), await scaleOf("root")];
    const close = (value: number, expected: number): boolean => Math.abs(value - expected) <= 1e-6;
    for (const [i, g] of gradient.entries()) {
      const block = Math.floor(i / 256);
      const m = (0.1 * g) / firstScales[block]!;
      assert.ok(close(firstOf(first[i]!), nearest(maps.signed, m)), `m ${i}: ${m}`);
      const r = (Math.sqrt(0.001) * Math.abs(g)) / rootScales[block]!;
      assert.ok(close(maps.unsigned[root[i]!]!, nearest(maps.unsigned, r)), `root ${i}: ${r}`);
    }
  });
});

test("a state of another form is refused, and so is rounding float32 at random", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "state.safetensors");
    await using model = await tinyModel(1, "bfloat16");
    {
      await using trainer = await Trainer.open(model, { moments: "8-bit" });
      await trainer.saveState(path);
    }
    await using trainer = await Trainer.open(model);
    await assert.rejects(trainer.loadState(path, 0), { code: "ERR_FORMAT", message: /adamw/ });
    await using float32 = await tinyModel();
    await assert.rejects(Trainer.open(float32, { masterWeights: false }), { code: "ERR_ARGUMENT" });
  });
});
