/** Quantised weights: what they mean, what a model of them computes, how they are saved and refused. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type DecoderShape, decoderConfig } from "../../lib/model/config/config.ts";
import { configFileOf } from "../../lib/model/config/config-file.ts";
import { Model } from "../../lib/model/model.ts";
import { safetensorsHeader } from "../../lib/model/safetensors.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { projectRoot } from "../project.ts";

const forms = ["int8", "int4", "nf4"] as const;
const scratch = mkdtempSync(join(tmpdir(), "seekrl-quantised-"));
after(() => rmSync(scratch, { recursive: true }));
let numFolders = 0;
const newFolder = (): string => join(scratch, String(numFolders++));

/** Untied, so that the head has values of its own. */
const shape: DecoderShape = {
  ...{ vocabSize: 80, hiddenSize: 96, intermediateSize: 150, numLayers: 2, numHeads: 4, numKvHeads: 2 },
  tieEmbeddings: false,
};
const ids = Int32Array.from({ length: 50 }, (_, i) => (i * 7 + 3) % 80);

/** A folder of f32 weights, each as `valuesOf` its name. */
async function writeFolder(of: Model, valuesOf: (name: string) => Promise<Float32Array>): Promise<string> {
  const folder = newFolder();
  await of.save(folder);
  const tensors = [...of.handle.tensors(), ...of.handle.quantised()].map(({ name, shape }) => ({
    name,
    shape,
  }));
  const values = await Promise.all(tensors.map(({ name }) => valuesOf(name)));
  const parts = values.map(({ buffer, byteLength }) => Buffer.from(buffer, 0, byteLength));
  writeFileSync(
    join(folder, "model.safetensors"),
    Buffer.concat([safetensorsHeader(tensors, "F32"), ...parts]),
  );
  const { quantization_config: _, ...config } = JSON.parse(readFileSync(join(folder, "config.json"), "utf8"));
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return folder;
}

const meanGap = (a: readonly (number | null)[], b: readonly (number | null)[]): number =>
  a.reduce<number>((sum, x, i) => sum + Math.abs((x ?? 0) - (b[i] ?? 0)), 0) / (a.length - 1);

/** Against the f32 forward over what the codes mean only activations are rounded; against the original, weights too. */
const bounds = { int8: [0.03, 0.03], int4: [0.03, 0.3], nf4: [0.01, 0.3] } as const;

for (const weights of forms) {
  test(`${weights}: log-probabilities are those of the f32 forward over what the codes mean, and near the original's`, async () => {
    await using plain = await Model.create(shape, { seed: 3, std: 0.1 });
    await using few = await Model.create(shape, { seed: 3, std: 0.1, weights });
    await using meant = await Model.load(await writeFolder(few, (name) => few.parameter(name)));
    const found = await few.scoreLogprobs(ids);
    const [fromMeant, fromPlain] = [await meant.scoreLogprobs(ids), await plain.scoreLogprobs(ids)];
    const [near, far] = bounds[weights];
    assert.ok(meanGap(found, fromMeant) < near, `${meanGap(found, fromMeant)}`);
    assert.ok(meanGap(found, fromPlain) < far, `${meanGap(found, fromPlain)}`);
    assert.equal(few.numParameters, plain.numParameters);
  });

  test(`${weights}: a folder quantised when it is loaded, and the folder saved of it, are the model made so`, async () => {
    await using made = await Model.create(shape, { seed: 3, weights });
    await using plain = await Model.create(shape, { seed: 3 });
    const [original, saved] = [newFolder(), newFolder()];
    await plain.save(original, { maxShardBytes: 40_000 });
    await using loaded = await Model.load(original, { weights });
    await loaded.save(saved, { maxShardBytes: 30_000 });
    assert.ok(readdirSync(saved).length > 3);
    await using again = await Model.load(saved);
    assert.equal(again.weights, weights);
    const expected = await made.scoreLogprobs(ids);
    assert.deepEqual(await loaded.scoreLogprobs(ids), expected);
    assert.deepEqual(await again.scoreLogprobs(ids), expected);
    await using copy = await again.clone();
    again.close();
    assert.deepEqual(await copy.scoreLogprobs(ids), expected);
  });
}

test("a tied head in int8 is the embedding's own values", async () => {
  await using plain = await Model.create({ ...shape, tieEmbeddings: true }, { seed: 3 });
  await using few = await Model.create({ ...shape, tieEmbeddings: true }, { seed: 3, weights: "int8" });
  const [embedding, head] = [
    await few.parameter("model.embed_tokens.weight"),
    await few.parameter("lm_head.weight"),
  ];
  assert.deepEqual(embedding, await plain.parameter("model.embed_tokens.weight"));
  assert.ok(head.every((x, i) => Math.abs(x - (embedding[i] ?? 0)) < 1e-3));
  assert.equal(few.numParameters, plain.numParameters);
});

test("NF4 and int4 are what bitsandbytes and GGUF's Q4_0 make of the same weight", async () => {
  const [rows, columns] = [80, 256];
  const weight = Float32Array.from({ length: rows * columns }, (_, i) => {
    const whole = (((i * 48_271) % 65_521) - 32_760) * (((Math.floor(i / 32) * 37) % 11) + 1);
    return whole / 16_384;
  });
  const config = { ...shape, hiddenSize: columns, intermediateSize: rows };
  const name = "model.layers.0.mlp.gate_proj.weight";
  await using plain = await Model.create(config);
  const folder = await writeFolder(plain, async (each) => (each === name ? weight : plain.parameter(each)));
  const golden = JSON.parse(
    readFileSync(join(projectRoot, "test", "golden", "model", "quantised.json"), "utf8"),
  ) as Record<"nf4" | "int4", { sha256: string; first: number[] }>;
  for (const weights of ["nf4", "int4"] as const) {
    await using few = await Model.load(folder, { weights });
    const values = await few.parameter(name);
    assert.deepEqual([...values.slice(0, 70)], golden[weights].first);
    assert.equal(
      createHash("sha256").update(new Uint8Array(values.buffer)).digest("hex"),
      golden[weights].sha256,
    );
  }
});

test("what quantised weights cannot do is refused by name", async () => {
  await using few = await Model.create(shape, { weights: "int4", dtype: "bfloat16" });
  await assert.rejects(few.save(newFolder(), { dtype: "float32" }), {
    code: "ERR_ARGUMENT",
    message: /^model\.save: dtype: expected bfloat16/,
  });
  await assert.rejects(Trainer.open(few), { code: "ERR_STATE", message: /quantised/ });
  const folder = newFolder();
  await few.save(folder);
  await assert.rejects(Model.load(folder, { weights: "int8" }), {
    code: "ERR_ARGUMENT",
    message: /int4, not int8/,
  });
  await assert.rejects(Model.load(folder, { weights: "int3" as "int4" }), { code: "ERR_ARGUMENT" });
  const path = join(folder, "config.json");
  const file = {
    ...configFileOf(decoderConfig(shape)),
    quantization_config: { quant_method: "awq", bits: 4 },
  };
  writeFileSync(path, JSON.stringify(file));
  await assert.rejects(Model.load(folder), { code: "ERR_FORMAT", message: /quantization_config/ });
  writeFileSync(
    path,
    JSON.stringify({ ...file, quantization_config: { quant_method: "seekrl", weights: "int5" } }),
  );
  await assert.rejects(Model.load(folder), { code: "ERR_FORMAT", message: /int8/ });
  await using wild = await Model.create(shape);
  const broken = await writeFolder(wild, async (name) => {
    const values = await wild.parameter(name);
    if (name.endsWith("1.mlp.up_proj.weight")) values[77] = Number.NaN;
    return values;
  });
  const message =
    /model\.safetensors: model\.layers\.1\.mlp\.up_proj\.weight: quantise: expected finite numbers/;
  for (const weights of forms)
    await assert.rejects(Model.load(broken, { weights }), { code: "ERR_RANGE", message });
});
