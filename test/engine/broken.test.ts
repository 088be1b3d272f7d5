/** One sequence of numbers that are not finite, among others. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { nativeSampling } from "../../lib/engine/sampling-options.ts";
import { Model } from "../../lib/model/model.ts";
import { nativeEngineOptions, prompt } from "./models.ts";

/** Its embeddings are multiplied by the root of 32. */
const shape = {
  architecture: "Gemma2ForCausalLM" as const,
  vocabSize: 97,
  hiddenSize: 32,
  intermediateSize: 64,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  maxPosition: 512,
  tieEmbeddings: false,
};
const good = Array.from({ length: 8 }, (_, i) => prompt(20 + i, i));
const refused = { code: "ERR_RANGE", message: /^logits: expected finite numbers, got -?nan .*broken$/ };

/** What the good prompts give while something else happens: their tokens, then scores of other tokens. */
async function continuations(engine: Engine, during: () => Promise<void>): Promise<number[][]> {
  const sequences = good.map((ids, i) => engine.open(ids, { seed: i }));
  const spans = sequences.map((each) => each.generate({ maxTokens: 60, topK: 8 }));
  await during();
  await Promise.all(spans);
  const scores = await Promise.all(sequences.map((each) => each.score([1, 2])));
  const found = sequences.map(({ tokens }, i) => [...tokens, ...scores[i]!.logprobs]);
  for (const each of sequences) each.close();
  return found;
}

/** The model in which one id's embedding, finite as it is stored, is infinite once it is scaled. */
async function withBrokenId(whole: Model, id: number): Promise<Model> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-broken-"));
  try {
    await whole.save(folder);
    const file = join(folder, "model.safetensors");
    const bytes = await readFile(file);
    const headerBytes = Number(bytes.readBigUInt64LE());
    const header = JSON.parse(bytes.toString("utf8", 8, 8 + headerBytes));
    const start = 8 + headerBytes + header["model.embed_tokens.weight"].data_offsets[0];
    for (let i = 0; i < shape.hiddenSize; i++)
      bytes.writeFloatLE(3e38, start + 4 * (id * shape.hiddenSize + i));
    await writeFile(file, bytes);
    return await Model.load(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function failInEveryWay(engine: Engine, brokenId: number): Promise<void> {
  for (const options of [{ temperature: 0 }, { topK: 3 }, { topP: 0.5 }, {}]) {
    const sequence = engine.open([...prompt(20), brokenId]);
    await assert.rejects(sequence.generate({ maxTokens: 30, ...options }), refused);
    await assert.rejects(sequence.score([1, 2, 3]), refused);
    const child = sequence.fork();
    await assert.rejects(child.generate({ maxTokens: 3 }), refused);
    child.close();
    sequence.close();
  }
  const scored = engine.open(good[0]!, { seed: 0 });
  await assert.rejects(scored.score([1, brokenId, 2]), refused);
  assert.equal((await scored.generate({ maxTokens: 3 })).ids.length, 3);
  scored.close();
}

test("a sequence whose numbers are not finite fails alone: the others go on with the same tokens", async () => {
  const sizes = { numBlocks: 40, blockTokens: 16 };
  const whole = await Model.create(shape, { seed: 1, std: 0.3 });
  await using clean = await Engine.open(whole, sizes);
  const expected = await continuations(clean, async () => {});
  const used = new Set(expected.flat());
  const brokenId = Array.from({ length: shape.vocabSize }, (_, id) => id).find((id) => !used.has(id))!;
  const model = await withBrokenId(whole, brokenId);
  whole.close();
  await using engine = await Engine.open(model, sizes);
  const actual = await continuations(engine, () => failInEveryWay(engine, brokenId));
  assert.deepEqual(actual, expected);
  assert.equal((await engine.stats()).numUsedBlocks, 0);
  model.close();
});

test("a command that cannot be carried out fails its own sequence and no other", async () => {
  const model = await Model.create(shape, { seed: 1, std: 0.3 });
  const told = new Map<number, string>();
  const engine = new (native().EngineHandle)(({ sequences, finishes, errors }) => {
    for (const [i, id] of sequences.entries()) told.set(id, errors[i]?.code ?? `finish ${finishes[i]}`);
  });
  const sampling = nativeSampling({}, shape.vocabSize);
  const options = { maxTokens: 30, sampling, stop: [], entropies: false };
  const span = { ...options, stopIds: new Int32Array(), isStreamed: false, maskWords: 0 };
  await engine.start(model.handle, nativeEngineOptions, {
    bytes: new Uint8Array(),
    starts: Int32Array.of(0),
  });
  engine.open(0, prompt(5), 0, undefined);
  engine.generate(0, span);
  engine.append(7, prompt(3));
  engine.fork(7, 8, 0);
  engine.generate(7, span);
  engine.score(8, prompt(3));
  for (let ms = 0; told.size < 3 && ms < 10_000; ms += 10) await setTimeout(10);
  assert.deepEqual(
    [...told].sort(([a], [b]) => a - b),
    [
      [0, "finish 1"],
      [7, "ERR_STATE"],
      [8, "ERR_STATE"],
    ],
  );
  await engine.close();
  model.close();
});
