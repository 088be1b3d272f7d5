/** Adapters on a GPU, emulated: sequences of several and of none in one batch, and law 4 for each. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import type { DecoderShape } from "../../lib/model/config/config.ts";
import type { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { filled } from "../train/tiny.ts";
import { gpuDevice } from "./device.ts";
import { ids, modelOn, relativeDifference, scoresOf, shapes } from "./models.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-gpu-"));
after(() => rmSync(folder, { recursive: true }));

/** One that says something: a few steps of training are behind it. */
async function trained(model: Model, rank: number, targets?: readonly string[]): Promise<Adapter> {
  const adapter = await Adapter.create(model, { rank, alpha: 2 * rank, seed: rank, targets });
  await using trainer = await Trainer.open(adapter);
  await step(trainer, rank);
  return adapter;
}

async function step(trainer: Trainer, salt: number): Promise<void> {
  const rows = Int32Array.from({ length: 20 }, (_, i) => i + 3);
  const weights = filled(20, () => 1 / 20);
  await trainer.accumulate([{ tokens: ids(24, salt + 40), rows, weights }], {});
  await trainer.step({ learningRate: 2e-2 });
}

async function checkBatch(shape: DecoderShape, targets?: readonly string[]): Promise<void> {
  await using model = await modelOn(gpuDevice, shape);
  await using first = await trained(model, 4);
  await using second = await trained(model, 16, targets);
  await using engine = await Engine.open(model, { blockTokens: 16, maxBatchTokens: 48 });
  const asked = [first, second, undefined, first, second, undefined, first].map((adapter, i) => ({
    adapter,
    prompt: ids(7 + 5 * i, i),
  }));
  const generate = async ({ adapter, prompt }: (typeof asked)[number], seed: number) => {
    await using sequence = engine.open(prompt, { seed, adapter: adapter ?? false });
    return await sequence.generate({ maxTokens: 5, temperature: 0.9 });
  };
  const spans = await Promise.all(asked.map(generate));
  for (const [i, span] of spans.entries()) {
    const { adapter, prompt } = asked[i]!;
    const alone = await generate(asked[i]!, i);
    assert.deepEqual([alone.ids, alone.logprobs], [span.ids, span.logprobs]);
    assert.deepEqual(await scoresOf(adapter ?? model, prompt, span.ids, 0.9), span.logprobs);
    if (adapter === undefined) continue;
    const plain = await scoresOf(model, prompt, span.ids, 0.9);
    assert.ok(relativeDifference(plain, span.logprobs) > 1e-3);
  }
}

test("sequences of several adapters and of none generate together on a GPU, each with its own bits (law 4)", () =>
  checkBatch(shapes["biases and a tied head"]!, ["q_proj", "down_proj"]));

test("experts of a GPU take each token through its own adapter (law 4)", () =>
  checkBatch(shapes["four experts, each weighed"]!));

test("an adapter that is trained between steps on a GPU generates with its numbers of that moment", async () => {
  await using model = await modelOn(gpuDevice, shapes["norms of heads, part of each turned"]!);
  await using adapter = await trained(model, 8);
  await using trainer = await Trainer.open(adapter);
  await using engine = await Engine.open(adapter, { blockTokens: 16 });
  for (let round = 0; round < 2; round += 1) {
    await using sequence = engine.open(ids(12, round), { seed: round });
    const span = await sequence.generate({ maxTokens: 4 });
    assert.deepEqual(await scoresOf(adapter, ids(12, round), span.ids), span.logprobs);
    await step(trainer, round);
  }
});

for (const rank of [4, 8])
  test(`gradients of an adapter of rank ${rank} on a GPU are those of the CPU`, async () => {
    const shape = shapes["biases and a tied head"]!;
    const path = join(folder, String(rank));
    await using origin = await modelOn("cpu", shape);
    await using written = await trained(origin, rank);
    await written.save(path);
    const gradients = async (device: string) => {
      await using model = await modelOn(device, shape);
      await using adapter = await Adapter.load(model, path);
      await using trainer = await Trainer.open(adapter);
      const rows = Int32Array.from({ length: 20 }, (_, i) => i + 3);
      const weights = filled(20, () => 1 / 20);
      await trainer.accumulate([{ tokens: ids(24, 9), rows, weights }], {});
      const found = new Map<string, Float32Array>();
      for (const { name } of adapter.handle.tensors()) found.set(name, await trainer.gradient(name));
      return found;
    };
    const [cpu, gpu] = [await gradients("cpu"), await gradients(gpuDevice)];
    for (const [name, expected] of cpu) {
      const difference = relativeDifference(expected, gpu.get(name)!);
      assert.ok(difference < 0.06, `${name}: ${difference}`);
    }
  });
