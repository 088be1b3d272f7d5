/** Sequences of different adapters in one batch: each is what it is alone, and what the trainer makes of it (laws 4 and 6). */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Sequence } from "../../lib/engine/sequence.ts";
import type { Span } from "../../lib/engine/span.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import type { Model } from "../../lib/model/model.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { withFolder } from "../train/run/kill.ts";
import { prompt, sameSpans, tinyModel } from "./models.ts";

const forms = [
  { dtype: "float32" },
  { dtype: "bfloat16" },
  { dtype: "bfloat16", weights: "int4" },
  { dtype: "bfloat16", weights: "nf4" },
] as const;

async function train(adapter: Adapter, salt: number): Promise<void> {
  await using trainer = await Trainer.open(adapter);
  const rows = Int32Array.from({ length: 29 }, (_, i) => i);
  const weights = new Float32Array(29).fill(1);
  for (let step = 0; step < 2; step += 1) {
    await trainer.accumulate([{ tokens: prompt(30, salt), rows, weights }]);
    await trainer.step({ learningRate: 0.02 });
  }
}

/** Two adapters that say something else than the model and each other. */
async function twoAdapters(model: Model): Promise<[Adapter, Adapter]> {
  const one = await Adapter.create(model, { rank: 4, seed: 1 });
  const other = await Adapter.create(model, {
    rank: 3,
    targets: ["q_proj", "down_proj"],
    rankStabilised: true,
  });
  await train(one, 1);
  await train(other, 2);
  return [one, other];
}

const request = { maxTokens: 12, temperature: 0.9 };

async function alone(model: Model, adapter: Adapter | false, i: number): Promise<Span> {
  await using engine = await Engine.open(model, { maxBatchTokens: 16 });
  return await engine.open(prompt(9 + 5 * i, i), { seed: i, adapter }).generate(request);
}

for (const form of forms) {
  const name = Object.values(form).join(" ");

  test(`a batch of adapters and none gives each sequence the bits it has alone, in ${name}`, async () => {
    await using model = await tinyModel(form);
    const [one, other] = await twoAdapters(model);
    const chosen = [one, false, other, one, false, other, other] as const;
    await using engine = await Engine.open(model, { maxBatchTokens: 40 });
    const spans = await Promise.all(
      chosen.map((adapter, i) => engine.open(prompt(9 + 5 * i, i), { seed: i, adapter }).generate(request)),
    );
    for (const [i, adapter] of chosen.entries()) sameSpans(spans[i], await alone(model, adapter, i));
    const [withOne, without] = await Promise.all(
      [one, false].map((each) => alone(model, each as Adapter, 3)),
    );
    assert.notDeepEqual(withOne, without);
    assert.ok((await engine.stats()).meanBatch > 1.5);
    one.close();
    other.close();
  });

  test(`log-probabilities while generating are those of training, bit for bit, in ${name}`, async () => {
    await using model = await tinyModel(form);
    const [one, other] = await twoAdapters(model);
    await using engine = await Engine.open(one, { maxBatchTokens: 24 });
    const opened = [one, other, undefined].flatMap((adapter, i) =>
      [0, 1].map((j) => ({
        policy: adapter ?? model,
        length: 11 + 3 * i + j,
        sequence: engine.open(prompt(11 + 3 * i + j, j), { seed: i, adapter: adapter ?? false }),
      })),
    );
    const spans = await Promise.all(opened.map(({ sequence }) => sequence.generate(request)));
    for (const [i, { policy, length, sequence }] of opened.entries()) {
      const rows = Int32Array.from({ length: spans[i]!.ids.length }, (_, t) => length - 1 + t);
      const scores = await scoreSequences(policy, [{ tokens: sequence.tokens, rows }], { temperature: 0.9 });
      assert.deepEqual(scores.logprobs[0], spans[i]!.logprobs, `sequence ${i}`);
    }
    one.close();
    other.close();
  });
}

test("tokens that are scored beside others of another adapter have the scores that they have alone", async () => {
  await using model = await tinyModel();
  const [one, other] = await twoAdapters(model);
  await using engine = await Engine.open(one);
  const given = prompt(8, 4);
  const [scores, , plain] = await Promise.all([
    engine.open(prompt(10), { seed: 1 }).score(given),
    engine.open(prompt(12), { seed: 1, adapter: other }).generate(request),
    engine.open(prompt(10), { seed: 1, adapter: false }).score(given),
  ]);
  const all = Int32Array.of(...prompt(10), ...given);
  assert.deepEqual([...scores.logprobs], (await one.scoreLogprobs(all)).slice(10));
  assert.deepEqual([...plain.logprobs], (await model.scoreLogprobs(all)).slice(10));
});

test("what was read is found again by sequences of the same adapter, in the same version, alone", async () => {
  await using model = await tinyModel();
  const [one, other] = await twoAdapters(model);
  await using engine = await Engine.open(model, { blockTokens: 4 });
  const read = async (adapter: Adapter | false): Promise<number> => {
    const { numReused: before } = await engine.stats();
    const sequence = engine.open(prompt(24, 1), { seed: 3, adapter });
    const span = await sequence.generate(request);
    sequence.close();
    await using fresh = await Engine.open(model);
    sameSpans(span, await fresh.open(prompt(24, 1), { seed: 3, adapter }).generate(request));
    return (await engine.stats()).numReused - before;
  };
  const reused: number[] = [];
  for (const adapter of [false, one, other, one, false, other] as const) reused.push(await read(adapter));
  assert.deepEqual(reused, [0, 0, 0, 20, 20, 20]);
  await train(one, 5);
  // Training takes the memory of what no sequence holds, so that all is read once more.
  assert.deepEqual([await read(one), await read(other), await read(one), await read(other)], [0, 0, 20, 20]);
});

/** What the sequence would say had it begun under the weights of now. */
async function fresh(policy: Adapter | Model, { tokens }: Sequence, seed: number): Promise<Span> {
  await using engine = await Engine.open(policy);
  return await engine.open(tokens, { seed }).generate(request);
}

test("a changed adapter is followed by its own sequences, the caches of others stay", async () => {
  await using model = await tinyModel();
  const [one, other] = await twoAdapters(model);
  await using engine = await Engine.open(model);
  const mine = engine.open(prompt(20), { seed: 1, adapter: one });
  const theirs = engine.open(prompt(20), { seed: 1, adapter: other });
  const plain = engine.open(prompt(20), { seed: 1 });
  const first = await Promise.all([mine, theirs, plain].map((each) => each.generate(request)));
  assert.equal(first[0]!.weightsVersion, one.weightsVersion);
  const before = await engine.stats();
  await train(one, 7);
  const expected = [await fresh(one, mine, 1), await fresh(other, theirs, 1), await fresh(model, plain, 1)];
  const second = await Promise.all([mine, theirs, plain].map((each) => each.generate(request)));
  sameSpans(second, expected);
  assert.equal(second[0]!.weightsVersion, first[0]!.weightsVersion + 2);
  assert.equal(second[1]!.weightsVersion, first[1]!.weightsVersion);
  // The 31 tokens but the last are read again by the one whose adapter moved; by the others only that last one is run.
  assert.equal((await engine.stats()).numPrefilled - before.numPrefilled, 31);
});

test("an adapter is replaced from a folder and closed while sequences live; forks go on with it", async () => {
  await using model = await tinyModel();
  const [one, next] = await twoAdapters(model);
  next.close();
  const other = await Adapter.create(model, { rank: 4, seed: 5 });
  await train(other, 3);
  await withFolder(async (folder) => {
    await other.save(folder);
    await using engine = await Engine.open(one);
    const sequence = engine.open(prompt(20), { seed: 1 });
    await sequence.generate(request);
    await one.read(folder);
    const fork = sequence.fork({ seed: 2 });
    one.close();
    const expected = await fresh(other, fork, 2);
    const { ids, logprobs } = await fork.generate(request);
    assert.deepEqual([ids, logprobs], [expected.ids, expected.logprobs]);
    assert.throws(() => engine.open(prompt(5)), { code: "ERR_STATE", message: /adapter: closed/ });
    assert.equal((await engine.open(prompt(5), { adapter: false }).generate(request)).ids.length, 12);
  });
  other.close();
});

test("a closed adapter rejects what it is asked for", async () => {
  await using model = await tinyModel();
  const adapter = await Adapter.create(model);
  adapter.close();
  for (const asked of [adapter.merge(), adapter.parameter("x")])
    await assert.rejects(asked, { code: "ERR_STATE" });
});

/** Takes the last tensor out of a safetensors file. */
async function dropLastTensor(path: string): Promise<void> {
  const bytes = await readFile(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, start)) as Record<string, { data_offsets: number[] }>;
  const [name, last] = Object.entries(header)
    .filter(([key]) => key !== "__metadata__")
    .reduce((one, other) => (other[1].data_offsets[1]! > one[1].data_offsets[1]! ? other : one));
  const { [name]: _, ...rest } = header;
  const text = Buffer.from(JSON.stringify(rest));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  await writeFile(path, Buffer.concat([length, text, bytes.subarray(start, start + last.data_offsets[0]!)]));
}

test("a folder that is refused leaves every number of an adapter as it was", async () => {
  await using model = await tinyModel();
  const one = await Adapter.create(model, { rank: 4 });
  const other = await Adapter.create(model, { rank: 4, seed: 5 });
  await train(other, 3);
  await withFolder(async (folder) => {
    await other.save(folder);
    await dropLastTensor(join(folder, "adapter_model.safetensors"));
    const before = await one.scoreLogprobs(prompt(20));
    await assert.rejects(one.read(folder), { code: "ERR_FORMAT", message: /missing tensor/ });
    assert.deepEqual(await one.scoreLogprobs(prompt(20)), before);
  });
  one.close();
  other.close();
});

test("an adapter on another model is refused", async () => {
  await using model = await tinyModel();
  await using twin = await tinyModel();
  await using stranger = await Adapter.create(twin);
  await using engine = await Engine.open(model);
  assert.throws(() => engine.open(prompt(5), { adapter: stranger }), {
    code: "ERR_ARGUMENT",
    message: /engine's model/,
  });
  assert.throws(() => engine.open(prompt(5), { adapter: true as unknown as false }), {
    code: "ERR_ARGUMENT",
  });
});
