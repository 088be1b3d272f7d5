/** Training an adapter: the model under it stays as it is, and is the reference; runs resume bit for bit. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model } from "../../../lib/model/model.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { openLearners } from "../../../lib/train/open-learners.ts";
import { epochs, sft } from "../../../lib/train/sft.ts";
import { withFolder } from "../run/kill.ts";
import { filled, noise, tinyModel, tinySequence, tinyShape } from "../tiny.ts";

const sequences = [1, 2, 3, 4].map((seed) => {
  const sequence = tinySequence(seed, 14);
  const count = sequence.rows.length;
  return {
    ...sequence,
    weights: filled(count, () => 0.1),
    returns: filled(count, (i) => noise(seed, i)),
    oldValues: filled(count, () => 0),
  };
});

async function weightsOf(model: Model): Promise<Float32Array[]> {
  const names = model.handle.tensors().map(({ name }) => name);
  return Promise.all(names.map((name) => model.parameter(name)));
}

test("only the adapter is trained: the model keeps its weights, has no gradients, and its version stays", async () => {
  for (const dtype of ["float32", "bfloat16"] as const) {
    await using model = await tinyModel(1, dtype);
    await using adapter = await Adapter.create(model, { rank: 2 });
    await using trainer = await Trainer.open(adapter);
    const [before, version, own] = [await weightsOf(model), model.weightsVersion, adapter.weightsVersion];
    const losses: number[] = [];
    for (let step = 0; step < 20; step += 1) {
      losses.push((await trainer.accumulate(sequences)).loss);
      await trainer.step({ learningRate: 0.02 });
    }
    assert.ok(losses.at(-1)! < 0.7 * losses[0]!, `loss ${losses[0]} became ${losses.at(-1)}`);
    assert.deepEqual(await weightsOf(model), before);
    assert.deepEqual([model.weightsVersion, adapter.weightsVersion], [version, own + 20]);
    await assert.rejects(trainer.gradient("model.norm.weight"), { code: "ERR_ARGUMENT" });
  }
});

test("an adapter on quantised weights is trained, and generated with at the bits of training", async () => {
  await native().setNumThreads(1);
  for (const weights of ["int8", "int4", "nf4"] as const) {
    await using model = await Model.create(tinyShape, { seed: 1, std: 0.2, weights });
    await using adapter = await Adapter.create(model, { rank: 2 });
    await using trainer = await Trainer.open(adapter);
    const losses: number[] = [];
    for (let step = 0; step < 20; step += 1) {
      losses.push((await trainer.accumulate(sequences)).loss);
      await trainer.step({ learningRate: 0.02 });
    }
    assert.ok(losses.at(-1)! < 0.7 * losses[0]!, `loss ${losses[0]} became ${losses.at(-1)}`);
    await using engine = await Engine.open(adapter);
    const sequence = engine.open(sequences[0]!.tokens, { seed: 1 });
    const { ids, logprobs } = await sequence.generate({ maxTokens: 8 });
    const rows = Int32Array.from({ length: ids.length }, (_, i) => sequences[0]!.tokens.length - 1 + i);
    assert.deepEqual(await trainer.logprobs([{ tokens: sequence.tokens, rows }]), [logprobs]);
    await assert.rejects(adapter.merge(), {
      code: "ERR_STATE",
      message: /got a quantised model\.layers\.0\.self_attn\.\w+\.weight/,
    });
  }
});

test("the gradient of A and B is the slope of the loss", async () => {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model, { rank: 2, rankStabilised: true });
  await using trainer = await Trainer.open(adapter, { maxGradNorm: 0, weightDecay: 0 });
  await trainer.accumulate(sequences);
  await trainer.step({ learningRate: 0.05 }); // B is zero at first, and then A has no gradient
  await trainer.accumulate(sequences);
  for (const half of ["A", "B"]) {
    const name = `base_model.model.model.layers.1.mlp.gate_proj.lora_${half}.weight`;
    const gradient = await trainer.gradient(name);
    const length = Math.hypot(...gradient);
    const at = async (scale: number): Promise<number> => {
      await using moved = await adapter.clone();
      await moveTensor(moved, name, (i) => (scale * gradient[i]!) / length);
      await using other = await Trainer.open(moved);
      return (await other.accumulate(sequences)).loss;
    };
    const step = 1e-2;
    const slope = ((await at(step)) - (await at(-step))) / (2 * step);
    assert.ok(Math.abs(slope - length) < 5e-3 * length, `${half}: slope ${slope}, gradient ${length}`);
  }
});

/** Moves the numbers of one tensor, through a folder. */
async function moveTensor(adapter: Adapter, name: string, by: (index: number) => number): Promise<void> {
  const { readFile, writeFile } = await import("node:fs/promises");
  const { readSafetensorsHeader } = await import("../../../lib/model/safetensors.ts");
  await withFolder(async (folder) => {
    await adapter.save(folder);
    const path = join(folder, "adapter_model.safetensors");
    const stored = (await readSafetensorsHeader(path)).find((tensor) => tensor.name === name)!;
    const bytes = await readFile(path);
    const count = stored.shape.reduce((product, size) => product * size, 1);
    for (let i = 0; i < count; i += 1) {
      bytes.writeFloatLE(bytes.readFloatLE(stored.offset + 4 * i) + by(i), stored.offset + 4 * i);
    }
    await writeFile(path, bytes);
    await adapter.read(folder);
  });
}

test("gradients do not depend on how a step is cut into micro-batches", async () => {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model, { rank: 2 });
  await using trainer = await Trainer.open(adapter);
  const name = "base_model.model.model.layers.0.self_attn.v_proj.lora_B.weight";
  await trainer.accumulate(sequences, { maxTokens: 15 });
  const cut = await trainer.gradient(name);
  await trainer.zeroGradients();
  await trainer.accumulate(sequences);
  const whole = await trainer.gradient(name);
  const largest = whole.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  for (const [i, value] of whole.entries()) assert.ok(Math.abs(value - cut[i]!) < 1e-5 * largest);
});

test("a model that is trained itself is no base for training an adapter", async () => {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model);
  await using trainer = await Trainer.open(adapter);
  {
    await using _other = await Trainer.open(model);
    await assert.rejects(trainer.accumulate(sequences), { code: "ERR_STATE", message: /model under it/ });
  }
  assert.ok((await trainer.accumulate(sequences)).loss > 0);
  await assert.rejects(Trainer.open(adapter), { code: "ERR_STATE", message: /trained already/ });
});

test("the reference of a new adapter is its model, and its critic an adapter of its own on the same model", async () => {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model, { rank: 2 });
  const algorithm = { ...algorithms.ppo, kl: { in: "loss", estimator: "k3", coef: 0.1 } } as const;
  await using opened = await openLearners(adapter, algorithm);
  const { trainer, critic, reference } = opened.learners;
  assert.equal(reference, model);
  assert.ok(critic?.trunk instanceof Adapter && critic.trunk !== adapter && critic.trunk.model === model);
  const before = await trainer.logprobs(sequences);
  const { loss: first } = await critic.accumulate(sequences);
  for (let step = 0; step < 20; step += 1) {
    await critic.step({ learningRate: 0.02 });
    await critic.accumulate(sequences);
  }
  const { loss: last } = await critic.accumulate(sequences);
  assert.ok(last < 0.5 * 2 * first, `value loss ${first} became ${last / 2}`);
  assert.deepEqual(await trainer.logprobs(sequences), before);
});

test("the reference of an adapter that was loaded is that adapter as it was, which training leaves alone", async () => {
  await using model = await tinyModel();
  await withFolder(async (folder) => {
    {
      await using adapter = await Adapter.create(model, { rank: 2 });
      await using trainer = await Trainer.open(adapter);
      await trainer.accumulate(sequences);
      await trainer.step({ learningRate: 0.05 });
      await adapter.save(folder);
    }
    await using adapter = await Adapter.load(model, folder);
    const ids = sequences[0]!.tokens;
    const start = await adapter.scoreLogprobs(ids);
    assert.notDeepEqual(start, await model.scoreLogprobs(ids));
    await using opened = await openLearners(adapter, algorithms.grpo);
    const { trainer, reference } = opened.learners;
    await trainer.accumulate(sequences);
    await trainer.step({ learningRate: 0.05 });
    assert.notDeepEqual(await adapter.scoreLogprobs(ids), start);
    assert.deepEqual(await reference?.scoreLogprobs(ids), start);
  });
});

async function run(folder: string, steps: number, shape: object = { rank: 2 }): Promise<Float32Array> {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model, shape);
  await using trainer = await Trainer.open(adapter);
  const data = { ...epochs(sequences, { batchSize: 2, epochs: 4 }), steps };
  await sft({ trainer, ...data, learningRate: () => 1e-2, run: { folder, checkpointEvery: 3 } });
  return adapter.parameter("base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight");
}

test("a run of an adapter keeps the adapter alone, and goes on from a checkpoint bit for bit", async () => {
  await withFolder(async (folder) => {
    const whole = await run(join(folder, "whole"), 8);
    await run(join(folder, "parts"), 3);
    assert.deepEqual(await run(join(folder, "parts"), 8), whole);
    const files = await readdir(join(folder, "parts", "checkpoints", "step-000008"));
    const expected = [
      "adapter_config.json",
      "adapter_model.safetensors",
      "state.json",
      "trainer.safetensors",
    ];
    assert.deepEqual(files.sort(), expected);
    assert.deepEqual((await readdir(join(folder, "parts", "model"))).sort(), expected.slice(0, 2));
    await assert.rejects(run(join(folder, "parts"), 8, { rank: 2, alpha: 3 }), {
      code: "ERR_STATE",
      message: /lora/,
    });
  });
});

test("a critic that is an adapter is stored and read with its head", async () => {
  await using model = await tinyModel();
  await using adapter = await Adapter.create(model, { rank: 2 });
  await withFolder(async (folder) => {
    await using critic = await Critic.open(adapter);
    await critic.accumulate(sequences);
    await critic.step({ learningRate: 0.02 });
    await critic.trunk.save(folder);
    await critic.saveState(join(folder, "state.safetensors"));
    await using other = await Critic.open(adapter);
    await (other.trunk as Adapter).read(folder);
    await other.loadState(join(folder, "state.safetensors"), 1);
    assert.deepEqual(await other.values(sequences), await critic.values(sequences));
  });
});
