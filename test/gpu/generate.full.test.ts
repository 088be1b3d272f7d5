/** The engine on a GPU, emulated: what drives the kernels, against the same weights on the CPU. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import { gpuDevice } from "./device.ts";
import { ids, modelOn, scoresOf, shapes } from "./models.ts";

// Factors of products have 8 bits: on the CPU sums stay in f32, on a GPU what leaves a product is rounded again.
const tolerance = 0.06;

for (const [name, shape] of Object.entries(shapes)) {
  test(`a GPU scores tokens as the CPU does: ${name}`, async () => {
    await using gpu = await modelOn(gpuDevice, shape);
    await using cpu = await modelOn("cpu", shape);
    const text = ids(70, 1);
    const [expected, actual] = [await cpu.scoreLogprobs(text), await gpu.scoreLogprobs(text)];
    for (let i = 1; i < text.length; i += 1)
      assert.ok(Math.abs(actual[i]! - expected[i]!) < tolerance, `token ${i}: ${actual[i]}, ${expected[i]}`);
  });

  test(`sequences of all lengths generate together on a GPU, and each has its own numbers: ${name}`, async () => {
    await using gpu = await modelOn(gpuDevice, shape);
    await using engine = await Engine.open(gpu, { blockTokens: 16, maxBatchTokens: 40 });
    const spans = await Promise.all(
      [1, 15, 16, 33, 50].map(async (length, i) => {
        await using sequence = engine.open(ids(length, i), { seed: i });
        const span = await sequence.generate({ maxTokens: 6, temperature: i === 0 ? 0 : 0.8, topP: 0.9 });
        return { prompt: ids(length, i), span, temperature: i === 0 ? 1 : 0.8 };
      }),
    );
    // Training gives a token the number that it was generated with (law 4).
    for (const { prompt, span, temperature } of spans) {
      assert.deepEqual(await scoresOf(gpu, prompt, span.ids, temperature), span.logprobs);
    }
    // Alone, through other tiles and batches: the same bits.
    for (const [i, { prompt, span, temperature }] of spans.entries()) {
      await using alone = engine.open(prompt, { seed: i });
      const again = await alone.generate({ maxTokens: 6, temperature: i === 0 ? 0 : temperature, topP: 0.9 });
      assert.deepEqual(again.ids, span.ids);
      assert.deepEqual(again.logprobs, span.logprobs);
    }
  });
}

test("what a GPU draws is bounded, biased and forbidden as on the CPU", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["biases and a tied head"]!);
  await using engine = await Engine.open(gpu);
  await using greedy = engine.open(ids(9, 2));
  const [likeliest] = (await greedy.generate({ maxTokens: 1, temperature: 0 })).ids;
  await using other = engine.open(ids(9, 2), { seed: 4 });
  const span = await other.generate({
    maxTokens: 8,
    topK: 5,
    logitBias: { 7: 1e6 },
    badWords: [[7, 7, 7], [likeliest!]],
    repetitionPenalty: 1.1,
    presencePenalty: 0.1,
    entropies: true,
  });
  assert.deepEqual([...span.ids.slice(0, 2)], [7, 7]);
  assert.notEqual(span.ids[2], 7);
  assert.ok(!span.ids.includes(likeliest!));
  assert.ok(span.entropies?.every((entropy) => entropy > 0 && entropy <= Math.log(96)));
});

test("a sequence that loses its blocks, is cut or forked on a GPU goes on as if nothing had been", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["biases and a tied head"]!);
  await using roomy = await Engine.open(gpu, { blockTokens: 16 });
  await using narrow = await Engine.open(gpu, { blockTokens: 16, numBlocks: 8 });
  const generate = (engine: Engine) =>
    Promise.all(
      [20, 25, 30].map(async (length, i) => {
        await using sequence = engine.open(ids(length, i), { seed: i });
        await using fork = sequence.fork({ seed: i + 10 });
        const [own, forked] = await Promise.all([
          sequence.generate({ maxTokens: 10 }),
          fork.generate({ maxTokens: 5 }),
        ]);
        await sequence.truncate(length - 3);
        const cut = await sequence.generate({ maxTokens: 4 });
        return [...own.ids, ...forked.ids, ...cut.ids, ...cut.logprobs];
      }),
    );
  assert.deepEqual(await generate(narrow), await generate(roomy));
});

test("a cache of e4m3 on a GPU generates near the model, marks what it made and gives training no log-probabilities", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["norms of heads, part of each turned"]!);
  await using engine = await Engine.open(gpu, { blockTokens: 16, cacheDtype: "e4m3" });
  await using sequence = engine.open(ids(40, 1), { seed: 2 });
  await using fork = sequence.fork({ seed: 3 });
  const spans = await Promise.all([sequence, fork].map((each) => each.generate({ maxTokens: 8 })));
  for (const { ids: drawn, logprobs, isApproximate } of spans) {
    assert.equal(isApproximate, true);
    const scored = await scoresOf(gpu, ids(40, 1), drawn);
    assert.notDeepEqual(scored, logprobs);
    for (const [i, expected] of scored.entries())
      assert.ok(Math.abs(logprobs[i]! - expected) < 0.15, `${logprobs[i]}, ${expected}`);
  }
  await using again = await Engine.open(gpu, { blockTokens: 16, cacheDtype: "e4m3", maxBatchTokens: 9 });
  await using alone = again.open(ids(40, 1), { seed: 2 });
  assert.deepEqual((await alone.generate({ maxTokens: 8 })).logprobs, spans[0]!.logprobs);
});

test("a cache of e4m3 on the CPU, and another form, are refused by name", async () => {
  await using cpu = await modelOn("cpu", shapes["biases and a tied head"]!);
  await assert.rejects(Engine.open(cpu, { cacheDtype: "e4m3" }), {
    code: "ERR_DEVICE",
    message: /cacheDtype: e4m3: expected a model on a GPU/,
  });
  await assert.rejects(Engine.open(cpu, { cacheDtype: "e5m2" as "e4m3" }), { code: "ERR_ARGUMENT" });
});

test("samples of one prompt read its keys together on a GPU, and each has the bits of itself alone", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["biases and a tied head"]!);
  await using engine = await Engine.open(gpu, { blockTokens: 32, maxBatchTokens: 400 });
  const first = engine.open(ids(300, 1), { seed: 0 });
  const samples = [first, ...[1, 2, 3, 4].map((seed) => first.fork({ seed }))];
  const together = await Promise.all(samples.map((each) => each.generate({ maxTokens: 5 })));
  for (const each of samples) each.close();
  for (const seed of [0, 3]) {
    await using alone = engine.open(ids(300, 1), { seed });
    const span = await alone.generate({ maxTokens: 5 });
    assert.deepEqual([span.ids, span.logprobs], [together[seed]!.ids, together[seed]!.logprobs]);
  }
});

test("a prompt has the same bits in chunks of any length on a GPU, through the kernel of many rows and that of few (law 4)", async () => {
  await using gpu = await modelOn(gpuDevice, shapes["biases and a tied head"]!);
  const prompt = ids(150, 2);
  // Two query heads to a key head: 32 tokens and more are prefilled. Another sequence decodes meanwhile.
  const generated = async (maxBatchTokens: number) => {
    await using engine = await Engine.open(gpu, { blockTokens: 16, maxBatchTokens });
    await using other = engine.open(ids(5, 3), { seed: 1 });
    const beside = other.generate({ maxTokens: 12 });
    await using sequence = engine.open(prompt, { seed: 4 });
    const span = await sequence.generate({ maxTokens: 5 });
    await beside;
    return { ids: span.ids, logprobs: span.logprobs };
  };
  const whole = await generated(200);
  assert.deepEqual(whole.logprobs, await scoresOf(gpu, prompt, whole.ids));
  for (const chunk of [7, 32, 33, 64, 101]) assert.deepEqual(await generated(chunk), whole, `of ${chunk}`);
});
