/** Families other than Qwen and Llama: law 4 beyond their windows, long contexts, and fused weights through a save. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import { readSafetensorsHeader } from "../../lib/model/safetensors.ts";
import { Critic } from "../../lib/train/learner/critic.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { projectRoot } from "../project.ts";

const golden = join(projectRoot, "test", "golden", "model");
const families = ["mistral", "phi3", "gemma2", "gemma3", "smollm3", "qwen3_moe", "mixtral"];
const contextOf = (name: string): number | undefined => (name === "phi3" ? 256 : undefined);

for (const name of families) {
  for (const dtype of ["float32", "bfloat16"] as const) {
    test(`${name} in ${dtype}: generated log-probabilities have the bits of one forward`, async () => {
      await using model = await Model.load(join(golden, name), { dtype, contextTokens: contextOf(name) });
      await using engine = await Engine.open(model);
      const sequence = engine.open(
        Int32Array.from({ length: 37 }, (_, i) => (i * 29 + 3) % 96),
        { seed: 5 },
      );
      const { logprobs } = await sequence.generate({ maxTokens: 60 });
      const scored = await model.scoreLogprobs(sequence.tokens);
      assert.deepEqual([...logprobs], scored.slice(-60).map(Number));
      sequence.close();
    });
  }

  test(`${name}: what is saved is what was loaded, in the names of transformers`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "seekrl-family-"));
    try {
      await using model = await Model.load(join(golden, name));
      await model.save(folder, { dtype: "bfloat16" });
      const file = "model.safetensors";
      const [saved, original] = await Promise.all(
        [folder, join(golden, name)].map(async (each) => readSafetensorsHeader(join(each, file))),
      );
      const shapes = (tensors: typeof saved) =>
        Object.fromEntries((tensors ?? []).map((tensor) => [tensor.name, tensor.shape]));
      assert.deepEqual(shapes(saved), shapes(original));
      await using again = await Model.load(folder);
      assert.deepEqual(again.config, model.config);
      const ids = Int32Array.from({ length: 30 }, (_, i) => (i * 7) % 96);
      assert.deepEqual(await again.scoreLogprobs(ids), await model.scoreLogprobs(ids));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

test("a sequence beyond the context that longrope is stretched for is refused, with the remedy", async () => {
  await using model = await Model.load(join(golden, "phi3"));
  assert.equal(model.config.contextTokens, 64);
  await assert.rejects(model.scoreLogprobs(new Int32Array(90)), {
    code: "ERR_RANGE",
    message:
      /ids: expected up to 64 tokens .contextTokens., got 90; load the model with contextTokens from 90 on/,
  });
  await assert.rejects(Model.load(join(golden, "phi3"), { contextTokens: 257 }), {
    code: "ERR_RANGE",
    message: "contextTokens: expected up to 256 for this model, got 257",
  });
});

test("a sequence beyond contextTokens is scored and trained by no model, whatever its positions", async () => {
  await using model = await Model.load(join(golden, "llama"), { contextTokens: 100 });
  await using adapter = await Adapter.create(model, { rank: 2 });
  const tokens = new Int32Array(101);
  const refused = {
    code: "ERR_RANGE",
    message: /: expected up to 100 tokens .contextTokens., got 101; load/,
  };
  assert.equal((await model.scoreLogprobs(tokens.subarray(1))).length, 100);
  for (const policy of [model, adapter]) {
    await assert.rejects(policy.scoreLogprobs(tokens), refused);
    await using trainer = await Trainer.open(policy);
    await using critic = await Critic.open(policy);
    const sequences = [{ tokens, rows: Int32Array.of(99), weights: Float32Array.of(1) }];
    await assert.rejects(scoreSequences(policy, sequences), refused);
    await assert.rejects(trainer.accumulate(sequences), refused);
    await assert.rejects(critic.values(sequences), refused);
    await assert.rejects(critic.accumulate(sequences), refused);
    // Neither what follows the last row nor another span is run with it.
    const cut = [
      { tokens, rows: Int32Array.of(98) },
      { tokens, rows: Int32Array.of(99), starts: Int32Array.of(0, 60) },
    ];
    assert.equal((await scoreSequences(policy, cut)).logprobs.length, 2);
  }
  await using whole = await Model.load(join(golden, "llama"));
  await assert.rejects(whole.scoreLogprobs(new Int32Array(257)), { message: /shorten it: .* up to 256/ });
});

test("weights stored in f16 are widened exactly unless bfloat16 is asked for", async () => {
  const name = "model.norm.weight";
  const tensors = await Promise.all(
    ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"].map((file) =>
      readSafetensorsHeader(join(golden, "llama", file)),
    ),
  );
  const stored = tensors.flat().find((tensor) => tensor.name === name);
  assert.equal(stored?.dtype, "F16");
  const bytes = await readFile(stored.path);
  // f16 of numbers near one: five bits of exponent, ten of fraction.
  const expected = Array.from({ length: 32 }, (_, i) => {
    const bits = bytes.readUInt16LE(stored.offset + 2 * i);
    return (1 + (bits & 1023) / 1024) * 2 ** (((bits >> 10) & 31) - 15);
  });
  await using model = await Model.load(join(golden, "llama"));
  assert.deepEqual([...(await model.parameter(name))], expected);
  await using rounded = await Model.load(join(golden, "llama"), { dtype: "bfloat16" });
  assert.notDeepEqual([...(await rounded.parameter(name))], expected);
});
