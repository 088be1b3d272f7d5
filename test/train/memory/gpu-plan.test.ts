/** What a training of Qwen2.5-3B's shape takes on a GPU, tensor by tensor, and what makes it fit. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { knownConfig } from "../../../apps/plan/shapes.ts";
import { adapterParameters } from "../../../lib/model/form/adapter-size.ts";
import { type MemoryPlan, type TrainingSizes, trainingMemory } from "../../../lib/train/memory/plan.ts";
import { remediesOf } from "../../../lib/train/memory/remedies.ts";
import { projectRoot } from "../../project.ts";

/** Of config.json on huggingface.co/Qwen/Qwen2.5-3B. */
const [d, i, layers, q, k, vocab] = [2048, 11_008, 36, 16 * 128, 2 * 128, 151_936];
const config = knownConfig("qwen2.5-3b")!;

/** Numbers of each tensor of a layer: projections with their biases, and norms. */
const layerTensors = [q * d, q, k * d, k, k * d, k, d * q, i * d, i * d, d * i, d, d];
const tensors = [vocab * d, ...Array.from({ length: layers }, () => layerTensors).flat(), d];
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** What a layer keeps of a micro-batch on a GPU, tensor by tensor: shape [tokens, width], bytes of a number. */
const keptTensors = [
  ...[
    [d, 4],
    [1, 4],
    [d, 2],
  ], // into attention: residual stream, scale, normed
  ...[
    [q, 2],
    [k, 2],
    [k, 2],
  ], // query, key, value
  ...[
    [q, 2],
    [16, 4],
  ], // attention's output, a sum for each head
  ...[
    [d, 4],
    [1, 4],
    [d, 2],
  ], // into the network
  ...[
    [i, 2],
    [i, 2],
    [i, 2],
  ], // gate, up, their product
];
const layerBytes = (tokens: number): number =>
  sum(keptTensors.map(([width = 0, bytes = 0]) => tokens * width * bytes));

const tokens = 4096;
const whole: TrainingSizes = {
  ...{ config, dtype: "bfloat16", device: "cuda", batch: { tokens, rows: tokens }, hasReference: true },
};
const rank = 16;
const projections = [d + q, d + k, d + k, q + d, d + i, d + i, i + d];
const numbers = rank * layers * sum(projections);
const adapter: TrainingSizes = { ...whole, adapterParameters: numbers, hasReference: false };

test("a training of all weights of 3B takes what its tensors take", () => {
  const n = sum(tensors);
  const { weights, gradients, optimiser, reference, activations, ...rest } = trainingMemory(whole);
  assert.deepEqual([weights, gradients, optimiser, reference], [2 * n, 4 * n, 4 * n + 4 * n + 2 * n, 2 * n]);
  // Gradients of gate, up and their product, and of the residual stream and what is added to it.
  const work = tokens * (3 * 2 * i + 2 * (4 + 2) * d);
  assert.equal(activations, layers * layerBytes(tokens) + work);
  // Rows of f32 logits that 256 MB hold; keys and values of a layer in blocks.
  const rows = Math.floor(2 ** 28 / 4 / vocab);
  assert.deepEqual([rest.head, rest.scratch], [4 * rows * vocab, 2 * 2 * tokens * k]);
  assert.deepEqual([rest.process, rest.critic, rest.cache], [0, 0, 0]);
});

test("an adapter on 3B takes the model, its own numbers and the same activations", () => {
  assert.equal(adapterParameters(config, { rank }), numbers);
  const memory = trainingMemory(adapter);
  // f32, and a copy in bf16 that products read; gradients and moments in f32.
  assert.equal(memory.weights, 2 * sum(tensors) + 6 * numbers);
  assert.deepEqual([memory.gradients, memory.optimiser, memory.reference], [4 * numbers, 8 * numbers, 0]);
  assert.equal(memory.activations, trainingMemory(whole).activations);
});

/** libtorch's allocator of a GPU (c10/core/CachingDeviceAllocator): what it reserves for blocks that stay. */
class Allocator {
  reserved = 0;
  readonly #free: { readonly isSmall: boolean; bytes: number }[] = [];

  take(asked: number): void {
    const bytes = Math.max(512, Math.ceil(asked / 512) * 512);
    const isSmall = bytes <= 2 ** 20;
    const fitting = this.#free.filter((each) => each.isSmall === isSmall && each.bytes >= bytes);
    const [best] = fitting.sort((a, b) => a.bytes - b.bytes);
    if (best !== undefined) {
      best.bytes -= bytes;
      return;
    }
    const own = bytes < 10 * 2 ** 20 ? 20 * 2 ** 20 : Math.ceil(bytes / 2 ** 21) * 2 ** 21;
    const segment = isSmall ? 2 ** 21 : own;
    this.reserved += segment;
    this.#free.push({ isSmall, bytes: segment - bytes });
  }
}

test("what libtorch's allocator rounds is within its part of the plan", () => {
  const states = [2, 4, 4, 4, 2]; // weights, gradients, two moments, masters
  const taken = (all: readonly number[], bytes: readonly number[]): number => {
    const allocator = new Allocator();
    for (const each of bytes) for (const size of all) allocator.take(each * size);
    return allocator.reserved;
  };
  const own = trainingMemory({ ...whole, hasReference: false });
  const held = own.weights + own.gradients + own.optimiser;
  const lost = taken(tensors, states) - held;
  assert.ok(lost > 0 && lost < own.allocator, `${lost} of ${own.allocator}`);
  const pairs = projections.map((size) => rank * size);
  const pair = Array.from({ length: layers }, () => pairs).flat();
  const [base, added] = [taken(tensors, [2]), taken(pair, [4, 2, 4, 4, 4])];
  const small = trainingMemory(adapter);
  const least = small.weights + small.gradients + small.optimiser;
  assert.ok(base + added - least < small.allocator, `${base + added - least} of ${small.allocator}`);
});

/** What an 80 GB GPU has beside what the driver and CUDA keep. */
const freeBytes = 84e9;

test("3B is trained whole and by an adapter on 80 GB, and recomputes layers where half of the rest is not enough", () => {
  for (const sizes of [whole, adapter]) {
    const { total, activations } = trainingMemory({ ...sizes, freeBytes });
    assert.ok(total < freeBytes, `${total / 1e9}`);
    const all = layers * layerBytes(tokens);
    const isRecomputed = activations < all;
    assert.equal(isRecomputed, sizes === whole, `${activations / 1e9} of ${all / 1e9}`);
  }
});

test("what makes a training fit is named with what it takes then, and nothing that does not", () => {
  const changes = (sizes: TrainingSizes, free: number): string[] =>
    remediesOf({ ...sizes, freeBytes: free }).map(({ change, bytes }) => {
      assert.ok(bytes <= free);
      return change;
    });
  const [small, smallest] = ["--optimizer moments=8-bit", "--optimizer moments=8-bit,masterWeights=false"];
  assert.deepEqual(changes(whole, 47e9), [small, smallest, "--lora 16"]);
  assert.deepEqual(changes(whole, 24e9), ["--lora 16"]);
  assert.deepEqual(changes({ ...adapter, batch: { tokens: 65_536, rows: 65_536 } }, 24e9), [
    "--micro-batch-tokens 32768",
  ]);
  assert.deepEqual(changes({ ...adapter, weights: "nf4", cacheBytes: 22e9 }, 24e9), ["no --cache-gib"]);
  assert.deepEqual(changes(whole, 4e9), []);
});

test("the table of docs/gpu.md has these figures", async () => {
  const small = { ...whole, moments: "8-bit" } as const;
  const forms = [adapter, { ...adapter, weights: "nf4" }, whole, small, { ...small, masterWeights: false }];
  const page = await readFile(join(projectRoot, "docs", "gpu.md"), "utf8");
  const rowOf = (name: string): string[] => {
    const line = page.split("\n").find((each) => each.startsWith(`| ${name}`)) ?? "";
    return line
      .split("|")
      .slice(2, -1)
      .map((cell) => cell.trim());
  };
  const tellsOf = (bytes: (plan: MemoryPlan) => number): string[] =>
    forms.map((sizes) => {
      const told = (bytes(trainingMemory({ ...sizes, freeBytes } as TrainingSizes)) / 1e9).toFixed(1);
      return told === "0.0" ? "0" : told;
    });
  const rows: Record<string, (plan: MemoryPlan) => number> = {
    weights: (plan) => plan.weights,
    gradients: (plan) => plan.gradients,
    "moments, masters": (plan) => plan.optimiser,
    "reference, for a KL term": (plan) => plan.reference,
    activations: (plan) => plan.activations,
    "kernels' scratch": (plan) => plan.head + plan.scratch,
    allocator: (plan) => plan.allocator,
    total: (plan) => plan.total,
  };
  for (const [name, bytes] of Object.entries(rows)) assert.deepEqual(rowOf(name), tellsOf(bytes), name);
  const least = forms.map((sizes) =>
    (trainingMemory({ ...sizes, activationBytes: 0 } as TrainingSizes).total / 1e9).toFixed(1),
  );
  assert.deepEqual(rowOf("least, layers run twice"), least);
});
