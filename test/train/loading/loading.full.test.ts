/** Ranks that share weights out read from the files what they keep, and no more. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { readSafetensorsHeader } from "../../../lib/model/safetensors.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { writeGguf } from "../../model/gguf/fixture.ts";
import { runTraining, steady } from "../ranks/runs.ts";
import { tinyModel } from "../tiny.ts";
import { digestOf } from "./digest.ts";
import { folder, golden, load, outcomes } from "./shares.ts";

const large = {
  ...{ vocabSize: 4000, hiddenSize: 512, intermediateSize: 1408, numLayers: 6 },
  ...{ numHeads: 8, numKvHeads: 8, maxPosition: 64, tieEmbeddings: true },
};
let numWeights = 0;

before(async () => {
  await using model = await Model.create(large, { seed: 1 });
  numWeights = model.numParameters;
  await model.save(join(folder, "float32"), { maxShardBytes: 2e7 });
  await model.save(join(folder, "bfloat16"), { dtype: "bfloat16" });
});

/**
 * Beyond what is kept: a piece that is read, pages of files, what libraries take once, and 8 MB at a time that the allocator
 * keeps or does not. Less than the 43 MB of weights that each of two ranks would hold too much.
 */
const few = 36e6;

for (const [size, stored, hasCritic] of [
  [4, "float32", false],
  [2, "bfloat16", false],
  [4, "float32", true],
] as const) {
  const who = hasCritic ? "policy and critic" : "a policy";
  test(`${size} ranks hold at no time more than their shares while ${who} stored in ${stored} is loaded, resumed and saved`, async () => {
    const [whole, saved] = [join(folder, "float32"), join(folder, `saved-${size}-${stored}`)];
    const task = { folder: join(folder, stored), hasCritic, resumed: whole, saved };
    // Weights, gradients and two moments in f32.
    const share = ((hasCritic ? 2 : 1) * 16 * numWeights) / size;
    for (const { peak, held } of await load(size, task)) {
      assert.ok(held < share + few, `holds ${held / 1e6} MB, a share is ${share / 1e6}`);
      assert.ok(peak < held + few, `at most ${peak / 1e6} MB, then ${held / 1e6}`);
    }
    const [written, expected] = await Promise.all([Model.load(saved), Model.load(whole)]);
    assert.equal(await digestOf(written), await digestOf(expected));
  });
}

test("a model that is not deferred is on every rank whole while it is loaded", async () => {
  for (const { peak, held } of await load(2, { folder: join(folder, "float32"), isDeferred: false }))
    assert.ok(peak > 4 * numWeights && held > 4 * numWeights);
});

/** Weights stored in other forms: by name, the form in memory. */
const small = (): readonly (readonly [string, string, Model["dtype"]])[] => [
  ["a tied model's shards", join(golden, "llama"), "float32"],
  ["fused projections", join(golden, "phi3"), "bfloat16"],
  ["numbers in float16", join(folder, "float16"), "bfloat16"],
  ["blocks of a GGUF file", join(folder, "llama.gguf"), "float32"],
];

test("policy and critic that each rank read a share of have the bits of the whole model, whatever form is stored", async () => {
  await using whole = await Model.load(join(golden, "llama"));
  await whole.save(join(folder, "float16"), { dtype: "float16" });
  await writeGguf(join(folder, "llama.gguf"), whole, { type: "F16" });
  for (const [name, path, dtype] of small()) {
    await using expected = await Model.load(path, { dtype });
    const digest = await digestOf(expected);
    for (const { digests } of await load(2, { folder: path, dtype, hasCritic: true, isTold: true }))
      assert.deepEqual(digests, [digest, digest], name);
  }
});

test("weights of a checkpoint take the place of those that were loaded, on each rank of its share", async () => {
  const [from, to] = [join(golden, "llama"), join(folder, "other")];
  await using other = await Model.create((await Model.load(from)).config, { seed: 9 });
  await other.save(to);
  const digest = await digestOf(other);
  for (const { digests } of await load(2, { folder: from, resumed: to, hasCritic: true, isTold: true }))
    assert.deepEqual(digests, [digest, digest]);
});

test("a number that is not finite is refused by the rank that reads it, and the others are told", async () => {
  const path = join(folder, "damaged");
  await using model = await tinyModel();
  await model.save(path);
  const file = join(path, "model.safetensors");
  const [first] = await readSafetensorsHeader(file);
  const bytes = await readFile(file);
  bytes.set([0, 0, 0xc0, 0x7f], first!.offset);
  await writeFile(file, bytes);
  const message = /model\.safetensors: .*: expected finite numbers of Float, got -?nan at place 0/;
  await using deferred = await Model.load(path, { isDeferred: true });
  await assert.rejects(Trainer.open(deferred), { code: "ERR_RANGE", message });
  const ranks = await outcomes(2, { folder: path, isTold: true });
  const told = ranks.map(({ lines }) => lines[0] as { code: string; message: string });
  assert.deepEqual(
    told.map(({ code }) => code),
    ["ERR_RANGE", "ERR_REMOTE"],
  );
  for (const { message: said } of told) assert.match(said, message);
});

for (const [what, steps, resumedOn] of [
  ["sft", 3, 4],
  ["ppo", 1, 2],
] as const) {
  test(`${what}: ranks that loaded their shares train with the bits of one process, also when they resume`, async () => {
    const loaded = join(folder, "tiny");
    await using model = await tinyModel();
    await model.save(loaded);
    const [given, into] = [{ loaded, gradientShards: 4 }, join(folder, what)];
    const run = async (size: number, to: string, options: object) =>
      await runTraining(size, what, to, JSON.stringify({ ...given, ...options }));
    const [alone] = await run(1, "", { steps: 2 * steps });
    await run(2, into, { zero: 3, steps });
    for (const lines of await run(resumedOn, into, { zero: 3, steps: 2 * steps }))
      assert.deepEqual(steady(lines), steady(alone!).slice(steps));
  });
}
