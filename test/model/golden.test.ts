/** Models of each architecture compute what Hugging Face transformers computes (test/golden/model/make.py). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { joinFused } from "../../lib/model/fused.ts";
import { type LoadOptions, Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { projectRoot } from "../project.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

interface Reference {
  readonly ids: number[];
  readonly logprobs: number[];
  readonly loss: number;
  readonly gradients: Record<string, { norm: number; first: number[] }>;
}

const golden = join(projectRoot, "test", "golden", "model");

const families = [
  "qwen2",
  "qwen3",
  "llama",
  "mistral",
  "phi3",
  "gemma2",
  "gemma3",
  "smollm3",
  "qwen3_moe",
  "mixtral",
];
/** Phi-3's references are longer than its original context. */
const optionsOf = (name: string): LoadOptions => (name === "phi3" ? { contextTokens: 256 } : {});

for (const name of families) {
  test(`log-probabilities of the ${name} folder are those of transformers`, async () => {
    const reference = JSON.parse(readFileSync(join(golden, name, "reference.json"), "utf8")) as Reference;
    await using model = await Model.load(join(golden, name), optionsOf(name));
    const [first, ...scored] = await model.scoreLogprobs(Int32Array.from(reference.ids));
    assert.equal(first, null);
    assert.equal(scored.length, reference.logprobs.length);
    for (const [i, expected] of reference.logprobs.entries()) {
      const gap = Math.abs((scored[i] ?? Number.NaN) - expected);
      assert.ok(
        gap <= 1e-4 * Math.max(1, Math.abs(expected)),
        `token ${i + 1}: ${scored[i]}, not ${expected}`,
      );
    }
    const loss = -scored.reduce<number>((sum, logprob) => sum + (logprob ?? 0), 0) / scored.length;
    assert.ok(Math.abs(loss - reference.loss) < 1e-5 * reference.loss);
  });
}

/** A gradient under the name of transformers, whose fused weights are several of ours. */
async function gradientOf(trainer: Trainer, parts: readonly string[]): Promise<number[]> {
  const gradients = await Promise.all(parts.map((part) => trainer.gradient(part)));
  return gradients.flatMap((gradient) => [...gradient]);
}

for (const name of families) {
  test(`gradients of the ${name} folder's mean log-probability are those of transformers`, async () => {
    const reference = JSON.parse(readFileSync(join(golden, name, "reference.json"), "utf8")) as Reference;
    await using model = await Model.load(join(golden, name), optionsOf(name));
    await using trainer = await Trainer.open(model);
    const numRows = reference.ids.length - 1;
    const rows = Int32Array.from({ length: numRows }, (_, i) => i);
    const weights = new Float32Array(numRows).fill(1 / numRows);
    await trainer.accumulate([{ tokens: Int32Array.from(reference.ids), rows, weights }]);
    const entries = new Map(
      joinFused(model.handle.tensors(), model.config).map((entry) => [entry.name, entry.parts]),
    );
    assert.equal(Object.keys(reference.gradients).length, entries.size);
    for (const [parameter, { norm, first }] of Object.entries(reference.gradients)) {
      const gradient = await gradientOf(trainer, entries.get(parameter) ?? []);
      const ours = Math.sqrt(gradient.reduce((sum, x) => sum + x * x, 0));
      // A key's bias moves all scores of a row alike, so its gradient is a sum that cancels to rounding errors.
      const tolerance = 1e-4 * norm + 1e-6;
      assert.ok(Math.abs(ours - norm) <= tolerance, `${parameter}: norm ${ours}, not ${norm}`);
      for (const [i, expected] of first.entries()) {
        assert.ok(Math.abs((gradient[i] ?? Number.NaN) - expected) <= tolerance, `${parameter}[${i}]`);
      }
    }
  });
}

test("bfloat16 weights compute about the same", async () => {
  const reference = JSON.parse(readFileSync(join(golden, "qwen3", "reference.json"), "utf8")) as Reference;
  await using model = await Model.load(join(golden, "qwen3"), { dtype: "bfloat16" });
  const [, ...scored] = await model.scoreLogprobs(Int32Array.from(reference.ids));
  // bfloat16 keeps 8 bits of each activation; log-probabilities here are about 5 in size.
  for (const [i, expected] of reference.logprobs.entries()) {
    assert.ok(Math.abs((scored[i] ?? Number.NaN) - expected) < 0.3, `token ${i + 1}`);
  }
});

test("a trained model scores its own story as an independent forward does", {
  skip: skipWithoutData,
}, async () => {
  const folder = sharedData("weights", "stories260K");
  const { ids, logprob_of_next } = JSON.parse(readFileSync(join(folder, "ref_greedy.json"), "utf8")) as {
    ids: number[];
    logprob_of_next: number[];
  };
  await using model = await Model.load(folder);
  const [, ...scored] = await model.scoreLogprobs(Int32Array.from(ids));
  for (const [i, logprob] of scored.entries()) {
    assert.ok(Math.abs((logprob ?? Number.NaN) - (logprob_of_next[i] ?? 0)) < 1e-4, `token ${i + 1}`);
  }
});
