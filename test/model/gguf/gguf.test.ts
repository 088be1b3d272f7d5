/** GGUF files: the model of a folder converted computes what the folder's does. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { readSentencePieceModel } from "../../../lib/text/tokenizers/sentencepiece/sentencepiece-model.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { runCli } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";
import { sharedData, skipWithoutData } from "../../shared-data.ts";
import { byteLetter, writeGguf } from "./fixture.ts";

const golden = join(projectRoot, "test", "golden", "model");
let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-gguf-"));
});

after(() => rm(folder, { recursive: true }));

async function greedy(model: Model, prompt: Int32Array, maxTokens: number): Promise<number[]> {
  await using engine = await Engine.open(model);
  const sequence = engine.open(prompt);
  const { ids } = await sequence.generate({ maxTokens, temperature: 0 });
  sequence.close();
  return [...ids];
}

const prompt = Int32Array.from({ length: 20 }, (_, i) => (i * 31 + 7) % 96);

// Each folder's own stored dtype, so that nothing is rounded; and f32, which holds all.
for (const [name, type] of [
  ["llama", "F16"],
  ["qwen3", "BF16"],
  ["qwen2", "F32"],
  ["llama", "F32"],
] as const) {
  test(`${name} as GGUF in ${type} generates the ids of its folder`, async () => {
    const path = join(folder, `${name}-${type}.gguf`);
    await using model = await Model.load(join(golden, name));
    await writeGguf(path, model, { type });
    await using read = await Model.load(path);
    for (const { name: parameter } of model.handle.tensors()) {
      assert.deepEqual(await read.parameter(parameter), await model.parameter(parameter), parameter);
    }
    assert.deepEqual(await greedy(read, prompt, 60), await greedy(model, prompt, 60));
    const saved = join(folder, `${name}-${type}`);
    await read.save(saved);
    await using again = await Model.load(saved);
    assert.deepEqual(await again.scoreLogprobs(prompt), await read.scoreLogprobs(prompt));
  });
}

// Weights of about 0.2 in blocks of 32, off by half a step of 0.2 * 2.5 / 127 and 0.2 * 2.5 / 8; log-probabilities of
// about 5 in size over two layers.
for (const [type, tolerance] of [
  ["Q8_0", 0.1],
  ["Q4_0", 1.5],
] as const) {
  test(`a model in ${type} scores within ${tolerance} of its folder`, async () => {
    const path = join(folder, `${type}.gguf`);
    await using model = await Model.load(join(golden, "qwen2"));
    await writeGguf(path, model, { type });
    await using read = await Model.load(path);
    const [, ...expected] = await model.scoreLogprobs(prompt);
    const [, ...scored] = await read.scoreLogprobs(prompt);
    const gaps = scored.map((logprob, i) => Math.abs(Number(logprob) - Number(expected[i])));
    assert.ok(Math.max(...gaps) < tolerance && Math.max(...gaps) > 0, `off by ${Math.max(...gaps)}`);
    // bf16 weights keep 8 bits of what the blocks say.
    await using narrow = await Model.load(path, { dtype: "bfloat16" });
    assert.equal(narrow.dtype, "bfloat16");
  });
}

test("Q4_0 keeps its codes where weights are int4", async () => {
  const shape = { vocabSize: 96, hiddenSize: 64, intermediateSize: 64, numLayers: 2, numHeads: 4 };
  await using model = await Model.create(shape, { std: 0.2, seed: 3 });
  const path = join(folder, "codes.gguf");
  await writeGguf(path, model, { type: "Q4_0" });
  await using widened = await Model.load(path);
  await using kept = await Model.load(path, { weights: "int4" });
  const [, ...exact] = await widened.scoreLogprobs(prompt);
  const [, ...scored] = await kept.scoreLogprobs(prompt);
  const gaps = scored.map((logprob, i) => Math.abs(Number(logprob) - Number(exact[i])));
  // Codes and scales are the same; products round activations to 8 bits.
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  assert.ok(mean > 0 && mean < 0.05, `${mean}`);
});

test("generate takes a GGUF file for a model folder", async () => {
  await using model = await Model.load(join(golden, "qwen2"));
  const path = join(folder, "letters.gguf");
  const tokenizer = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": Array.from({ length: 96 }, (_, byte) => byteLetter(byte)),
  };
  await writeGguf(path, model, { type: "F32", tokenizer });
  const asked = ["--prompt", "HELLO", "--temperature", "0", "--max-tokens", "8", "--json"];
  const { code, stdout, stderr } = await runCli("generate", "--model", path, ...asked);
  assert.equal(code, 0, stderr);
  const { samples } = JSON.parse(stdout) as { samples: { ids: number[] }[] };
  const prompt = Int32Array.from(Buffer.from("HELLO"));
  assert.deepEqual(samples[0]?.ids, await greedy(model, prompt, 8));
});

test("stories260K as GGUF tells its folder's story", { skip: skipWithoutData }, async () => {
  const source = sharedData("weights", "stories260K");
  const file = join(source, "tok512.model");
  const { pieces, bosId, eosId, unkId } = readSentencePieceModel(file, await readFile(file));
  const tokenizer = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": pieces.map(({ text }) => text),
    "tokenizer.ggml.scores": pieces.map(({ score }) => score + 1e-9),
    "tokenizer.ggml.token_type": pieces.map(({ type }) => type),
    "tokenizer.ggml.bos_token_id": bosId,
    "tokenizer.ggml.eos_token_id": eosId,
    "tokenizer.ggml.unknown_token_id": unkId,
  };
  await using model = await Model.load(source);
  const path = join(folder, "stories.gguf");
  await writeGguf(path, model, { type: "F16", tokenizer });
  const [expected, read] = await Promise.all([Tokenizer.load(source), Tokenizer.load(path)]);
  const story = "Once upon a time, there was a little girl named Lily.";
  const ids = read.encode(story, { beginsText: true });
  assert.deepEqual(ids, expected.encode(story, { beginsText: true }));
  await using gguf = await Model.load(path);
  assert.deepEqual(await greedy(gguf, ids, 120), await greedy(model, ids, 120));
  // Weights of 8 bits: log-probabilities move by some hundredths.
  const quantised = join(folder, "stories-q8.gguf");
  await writeGguf(quantised, model, { type: "Q8_0", tokenizer });
  await using q8 = await Model.load(quantised);
  const [, ...scored] = await q8.scoreLogprobs(ids);
  const [, ...exact] = await model.scoreLogprobs(ids);
  const gaps = scored.map((logprob, i) => Math.abs(Number(logprob) - Number(exact[i])));
  assert.ok(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length < 0.02, `mean gap of ${gaps}`);
});
