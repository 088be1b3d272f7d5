/** Encoders on a GPU, emulated, against the same weights on the CPU in bf16. */
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Encoder, type EncoderOptions } from "../../lib/search/embed/encoder.ts";
import { Reranker } from "../../lib/search/embed/reranker.ts";
import { copyOf, golden, texts } from "../search/embed/golden.ts";
import { gpuDevice } from "./device.ts";
import { cosine, modelOn, shapes, wideHeaded } from "./models.ts";

const bf16 = { dtype: "bfloat16" } as const;

// Of one token to as many as there are positions; more than one tile of 64 in all.
const ragged = [...texts.passages, "a", texts.passages.join(" "), ...texts.queries];

async function vectorsOn(folder: string, options: EncoderOptions): Promise<Float32Array[]> {
  await using encoder = await Encoder.open(folder, { ...bf16, ...options });
  const vectors = await encoder.embedPassages(ragged);
  assert.deepEqual(
    await encoder.embedPassages(ragged.slice(2, 3)),
    vectors.slice(2 * encoder.dim, 3 * encoder.dim),
  );
  return ragged.map((_, i) => vectors.slice(i * encoder.dim, (i + 1) * encoder.dim));
}

async function areAlike(folder: string, options: EncoderOptions): Promise<void> {
  const [cpu, gpu] = [
    await vectorsOn(folder, options),
    await vectorsOn(folder, { ...options, device: gpuDevice }),
  ];
  for (const [i, expected] of cpu.entries()) {
    assert.ok(cosine(expected, gpu[i]!) >= 0.999, `text ${i}: ${cosine(expected, gpu[i]!)}`);
    assert.ok(Math.abs(Math.hypot(...gpu[i]!) / Math.hypot(...expected) - 1) < 0.01);
  }
}

for (const name of ["bert-cls", "xlm-roberta"]) {
  for (const pooling of ["cls", "mean", "last"] as const) {
    test(`${name}: a GPU's vectors are the CPU's, alone and in company: ${pooling}`, async () => {
      const folder = await wideHeaded(name);
      await areAlike(folder, { pooling, normalise: true });
      await areAlike(folder, { pooling, normalise: false });
    });
  }
}

test("a decoder that embeds runs on a GPU, whatever rows are pooled", async () => {
  const folder = await copyOf("qwen3-last");
  await using model = await modelOn("cpu", {
    ...shapes["norms of heads, part of each turned"]!,
    vocabSize: 320,
    rotaryDim: 64,
  });
  await model.save(folder);
  for (const name of ["tokenizer.json", "tokenizer_config.json"])
    await cp(join(golden, "qwen3-last", name), join(folder, name));
  for (const pooling of ["last", "cls", "mean"] as const) await areAlike(folder, { pooling });
});

for (const name of ["bert-rank", "xlm-roberta-rank"]) {
  test(`${name}: a GPU's scores are the CPU's`, async () => {
    const folder = await wideHeaded(name);
    const scoresOn = async (device: string): Promise<Float32Array> => {
      await using reranker = await Reranker.open(folder, { ...bf16, device });
      return await reranker.score(texts.queries[0]!, texts.passages);
    };
    const [cpu, gpu] = [await scoresOn("cpu"), await scoresOn(gpuDevice)];
    for (const [i, score] of cpu.entries())
      assert.ok(Math.abs(score - gpu[i]!) < 0.02 * Math.max(1, Math.abs(score)), `${score}, ${gpu[i]}`);
  });
}

test("what a GPU's encoders have not is refused with the remedy", async () => {
  const folder = await wideHeaded("bert-cls");
  const device = gpuDevice;
  await assert.rejects(Encoder.open(folder, { device }), {
    code: "ERR_DTYPE",
    message: /give dtype bfloat16/,
  });
  await assert.rejects(Encoder.open(folder, { ...bf16, weights: "int8", device }), {
    code: "ERR_ARGUMENT",
    message: /leave weights out/,
  });
  await assert.rejects(Encoder.open(join(golden, "bert-cls"), { ...bf16, device }), {
    code: "ERR_ARGUMENT",
    message: /heads of width 32, .* got 8; this model runs on device cpu/,
  });
  await assert.rejects(Encoder.open(folder, { ...bf16, device: "gpu" }), {
    code: "ERR_DEVICE",
    message: /expected cpu or cuda, got gpu/,
  });
  await assert.rejects(Encoder.open(folder, { ...bf16, device: "cuda:1" }), {
    code: "ERR_DEVICE",
    message: /got cuda:1; set CUDA_VISIBLE_DEVICES/,
  });
});
