/** Model: making, saving, loading, scoring, closing. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { DecoderShape } from "../../lib/model/config/config.ts";
import { Model } from "../../lib/model/model.ts";
import { safetensorsHeader } from "../../lib/model/safetensors.ts";

const shape: DecoderShape = {
  vocabSize: 50,
  hiddenSize: 16,
  intermediateSize: 24,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
};
const scratch = mkdtempSync(join(tmpdir(), "seekrl-model-"));
after(() => rmSync(scratch, { recursive: true }));
let numFolders = 0;
const newFolder = (): string => join(scratch, String(numFolders++));
const ids = Int32Array.from({ length: 40 }, (_, i) => (i * 7 + 3) % 50);

async function allWeights(model: Model): Promise<Record<string, Float32Array>> {
  const weights: Record<string, Float32Array> = {};
  for (const { name } of model.handle.tensors()) weights[name] = await model.parameter(name);
  return weights;
}

test("the same seed makes the same weights, another seed others", async () => {
  await using a = await Model.create(shape, { seed: 1 });
  await using b = await Model.create(shape, { seed: 1 });
  await using c = await Model.create(shape, { seed: 2 });
  const name = "model.layers.1.mlp.up_proj.weight";
  assert.deepEqual(await allWeights(a), await allWeights(b));
  assert.notDeepEqual(await a.parameter(name), await c.parameter(name));
  assert.equal(
    a.numParameters,
    50 * 16 + 16 + 2 * (2 * 16 + 2 * (16 * 16 + 16 * 8) + 16 + 2 * 8 + 3 * 16 * 24),
  );
});

test("new weights have the standard deviation asked for, norms are one, biases zero", async () => {
  await using model = await Model.create({ ...shape, vocabSize: 4000 }, { std: 0.1 });
  const embedding = await model.parameter("model.embed_tokens.weight");
  const deviation = Math.sqrt(embedding.reduce((sum, x) => sum + x * x, 0) / embedding.length);
  assert.ok(Math.abs(deviation - 0.1) < 0.002, `${deviation}`);
  assert.ok((await model.parameter("model.norm.weight")).every((x) => x === 1));
  assert.ok((await model.parameter("model.layers.0.self_attn.q_proj.bias")).every((x) => x === 0));
});

test("the weights' bytes are those of the files that hold them, in every form", async () => {
  for (const form of [
    { dtype: "float32" },
    { dtype: "bfloat16" },
    { weights: "int8" },
    { weights: "nf4" },
  ] as const) {
    await using model = await Model.create({ ...shape, hiddenSize: 64 }, form);
    const folder = newFolder();
    await model.save(folder);
    // Eight bytes tell how long the header is; the rest is weights.
    const file = readFileSync(join(folder, "model.safetensors"));
    assert.equal(model.numBytes, file.length - 8 - Number(file.readBigUInt64LE(0)), JSON.stringify(form));
  }
});

test("what is saved loads with the same bits, in one file or in shards", async () => {
  await using model = await Model.create({ ...shape, tieEmbeddings: false }, { seed: 3 });
  const folder = newFolder();
  for (const maxShardBytes of [1e9, 2000]) {
    await model.save(folder, { maxShardBytes });
    await using loaded = await Model.load(folder);
    assert.deepEqual(loaded.config, model.config);
    assert.deepEqual(await allWeights(loaded), await allWeights(model));
  }
  assert.ok(readdirSync(folder).includes("model.safetensors.index.json"));
  assert.ok(!readdirSync(folder).includes("model.safetensors"), "the first save's file is gone");
  assert.ok(readdirSync(folder).every((file) => !file.endsWith(".tmp")));
});

test("bfloat16 weights are saved and loaded without a change", async () => {
  await using model = await Model.create(shape, { dtype: "bfloat16", seed: 4 });
  const folder = newFolder();
  await model.save(folder);
  await using loaded = await Model.load(folder, { dtype: "bfloat16" });
  assert.deepEqual(await allWeights(loaded), await allWeights(model));
});

test("keys of config.json that the model does not use survive loading and saving", async () => {
  await using model = await Model.create(shape);
  const folder = newFolder();
  await model.save(folder);
  const path = join(folder, "config.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), eos_token_id: 7 }));
  await using loaded = await Model.load(folder);
  const copy = newFolder();
  await loaded.save(copy);
  assert.equal(JSON.parse(readFileSync(join(copy, "config.json"), "utf8")).eos_token_id, 7);
});

test("a tensor that is missing, unknown or of another shape is named", async () => {
  await using model = await Model.create(shape);
  const folder = newFolder();
  await model.save(folder);
  const weights = await allWeights(model);
  const tensors = model.handle.tensors();
  const changes: [RegExp, typeof tensors][] = [
    [
      /missing tensor model\.norm\.weight of shape \[16\]/,
      tensors.filter(({ name }) => name !== "model.norm.weight"),
    ],
    [/has not: extra\.weight/, [...tensors, { name: "extra.weight", shape: [2] }]],
    [
      /model\.norm\.weight: expected shape \[16\], got \[4, 4\]/,
      tensors.map((tensor) => (tensor.name === "model.norm.weight" ? { ...tensor, shape: [4, 4] } : tensor)),
    ],
  ];
  for (const [message, changed] of changes) {
    const data = changed.map(({ name }) => Buffer.from((weights[name] ?? new Float32Array(2)).buffer));
    writeFileSync(
      join(folder, "model.safetensors"),
      Buffer.concat([safetensorsHeader(changed, "F32"), ...data]),
    );
    await assert.rejects(Model.load(folder), { code: "ERR_FORMAT", message });
  }
});

test("layers that the file does not hold are refused before memory is taken for them", async () => {
  const folder = newFolder();
  await using model = await Model.create(shape);
  await model.save(folder);
  const path = join(folder, "config.json");
  const config = JSON.parse(readFileSync(path, "utf8"));
  const sizes: [object, RegExp][] = [
    [{ num_hidden_layers: 4096 }, /missing tensor model\.layers\.2\./],
    [{ vocab_size: 2 ** 26 }, /embed_tokens\.weight: expected shape \[67108864, 16\]/],
    [{ intermediate_size: 2 ** 22 }, /gate_proj\.weight: expected shape/],
  ];
  for (const [changed, message] of sizes) {
    writeFileSync(path, JSON.stringify({ ...config, ...changed }));
    const before = process.memoryUsage().rss;
    await assert.rejects(Model.load(folder), { code: "ERR_FORMAT", message });
    assert.ok(process.memoryUsage().rss - before < 2 ** 28);
  }
});

test("a tied model whose head differs from its embeddings in the file is refused, an equal one is read", async () => {
  const folder = newFolder();
  await using model = await Model.create({ ...shape, tieEmbeddings: true });
  await model.save(folder);
  const weights = await allWeights(model);
  const tensors = [...model.handle.tensors(), { name: "lm_head.weight", shape: [50, 16] }];
  const write = (head: Float32Array): void => {
    const data = tensors.map(({ name }) => Buffer.from((weights[name] ?? head).buffer));
    writeFileSync(
      join(folder, "model.safetensors"),
      Buffer.concat([safetensorsHeader(tensors, "F32"), ...data]),
    );
  };
  const embeddings = weights["model.embed_tokens.weight"]!;
  write(embeddings);
  await using equal = await Model.load(folder);
  assert.deepEqual(await equal.scoreLogprobs(ids), await model.scoreLogprobs(ids));
  write(embeddings.map((each, i) => (i === 7 ? each + 1 : each)));
  const message = /lm_head\.weight differs from .*; set tie_word_embeddings to false$/;
  await assert.rejects(Model.load(folder), { code: "ERR_FORMAT", message });
});

test("weights that are not finite are not saved, and the file that was there stays", async () => {
  const folder = newFolder();
  for (const dtype of ["float32", "bfloat16"] as const) {
    await using model = await Model.create(shape, { dtype });
    await model.save(folder);
    const before = readFileSync(join(folder, "model.safetensors"));
    await using wild = await Model.create(shape, { dtype, std: 1e38 });
    await assert.rejects(wild.save(folder), {
      code: "ERR_RANGE",
      message: /model\.safetensors: model\.\S+: expected finite numbers/,
    });
    assert.deepEqual(readFileSync(join(folder, "model.safetensors")), before);
  }
  await using large = await Model.create(shape, { std: 1e5 });
  await assert.rejects(large.save(folder, { dtype: "float16" }), { code: "ERR_RANGE" });
});

test("an id's log-probability does not depend on what follows it, to the bit", async () => {
  await using model = await Model.create(shape, { seed: 5, std: 0.3 });
  const whole = await model.scoreLogprobs(ids);
  for (const length of [1, 2, 3, 17, 39]) {
    assert.deepEqual(await model.scoreLogprobs(ids.slice(0, length)), whole.slice(0, length));
  }
  assert.equal(whole[0], null);
  assert.deepEqual(await model.scoreLogprobs(new Int32Array(0)), []);
});

test("an id outside the vocabulary is refused", async () => {
  await using model = await Model.create(shape);
  await assert.rejects(model.scoreLogprobs(Int32Array.of(1, 50)), {
    code: "ERR_RANGE",
    message: "id: expected 0 to 49, got 50",
  });
});

test("a clone has the same weights and lives on alone", async () => {
  const model = await Model.create(shape, { seed: 6 });
  await using copy = await model.clone();
  const scored = await model.scoreLogprobs(ids);
  model.close();
  model.close();
  assert.deepEqual(await copy.scoreLogprobs(ids), scored);
  await assert.rejects(async () => model.scoreLogprobs(ids), { code: "ERR_STATE" });
  await assert.rejects(async () => model.clone(), { code: "ERR_STATE" });
  assert.throws(() => model.weightsVersion, { code: "ERR_STATE" });
});

test("closing while work is under way lets it finish", async () => {
  const model = await Model.create(shape);
  const scored = model.scoreLogprobs(ids);
  model.close();
  assert.equal((await scored).length, ids.length);
});

test("wrong options are refused by name", async () => {
  await assert.rejects(Model.create({ ...shape, numKvHeads: 3 }), { code: "ERR_ARGUMENT" });
  await assert.rejects(Model.create(shape, { seed: -1 }), { code: "ERR_RANGE" });
  await assert.rejects(Model.create(shape, { device: "abacus" }), { code: "ERR_DEVICE" });
  await assert.rejects(Model.create(shape, { device: "cuda:x" }), { code: "ERR_DEVICE" });
  await assert.rejects(Model.load(join(scratch, "nowhere")), { code: "ERR_IO" });
  await using model = await Model.create(shape);
  await assert.rejects(model.parameter("none"), { code: "ERR_ARGUMENT", message: /none/ });
});

test("a model that does not fit in memory says so", async () => {
  const huge = { ...shape, vocabSize: 2 ** 31, hiddenSize: 2 ** 22, headDim: 4 };
  await assert.rejects(Model.create(huge), { code: "ERR_MEMORY" });
});
