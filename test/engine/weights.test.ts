/** Law 6: weights change only between steps, and what was cached under others is computed again. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { generateOnce, prompt, tinyModel } from "./models.ts";

let model: Model;
let trainer: Trainer;

before(async () => {
  model = await tinyModel({ maxPosition: 4096 });
  trainer = await Trainer.open(model);
});

after(() => {
  trainer.close();
  model.close();
});

async function changeWeights(): Promise<void> {
  const rows = Int32Array.from({ length: 29 }, (_, i) => i);
  await trainer.accumulate([{ tokens: prompt(30, 9), rows, weights: new Float32Array(29).fill(1) }]);
  await trainer.step({ learningRate: 0.02 });
}

test("a paused sequence goes on under the new weights as if it had never run under the old ones", async () => {
  await using engine = await Engine.open(model);
  const sequence = engine.open(prompt(20), { seed: 1 });
  const first = await sequence.generate({ maxTokens: 10 });
  assert.equal(first.weightsVersion, model.weightsVersion);
  await changeWeights();
  const { tokens } = sequence;
  const second = await sequence.generate({ maxTokens: 10 });
  assert.equal(second.weightsVersion, first.weightsVersion + 1);
  assert.equal(model.weightsVersion, second.weightsVersion);
  await using fresh = await Engine.open(model);
  assert.deepEqual(await generateOnce(fresh, tokens, { maxTokens: 10, seed: 1 }), second);
});

test("forks of a prompt read under old weights read it again", async () => {
  await using engine = await Engine.open(model);
  const root = engine.open(prompt(40), { seed: 1 });
  await root.generate({ maxTokens: 1 });
  const fork = root.fork({ seed: 2 });
  await changeWeights();
  const span = await fork.generate({ maxTokens: 5 });
  await using fresh = await Engine.open(model);
  assert.deepEqual(await generateOnce(fresh, fork.tokens.slice(0, 41), { maxTokens: 5, seed: 2 }), span);
});

test("each token of a span that saw a change comes wholly from the old or wholly from the new weights", async () => {
  await using engine = await Engine.open(model);
  const old = await model.clone();
  const sequence = engine.open(prompt(10), { seed: 3 });
  const logprobs: number[] = [];
  let isChanging = false;
  let numBefore = Number.POSITIVE_INFINITY;
  for await (const chunk of sequence.stream({ maxTokens: 4000 })) {
    logprobs.push(...chunk.logprobs);
    if (logprobs.length >= numBefore + 40) break;
    if (logprobs.length < 20 || isChanging) continue;
    isChanging = true;
    void changeWeights().then(() => {
      numBefore = logprobs.length;
    });
  }
  const [byOld, byNew] = await Promise.all(
    [old, model].map(async (each) => (await each.scoreLogprobs(sequence.tokens)).slice(10)),
  );
  const firstNew = logprobs.findIndex((value, i) => value !== byOld?.[i]);
  assert.ok(firstNew >= 20 && firstNew <= numBefore + 1, `first token of the new weights: ${firstNew}`);
  assert.deepEqual(logprobs.slice(firstNew), byNew?.slice(firstNew, logprobs.length));
  old.close();
});

test("a span says which weights sampled which of its tokens, streamed or not", async () => {
  await using engine = await Engine.open(model);
  for (const isStreamed of [false, true]) {
    const old = await model.clone();
    const first = model.weightsVersion;
    const sequence = engine.open(prompt(10), { seed: 3 });
    const beside = engine.open(prompt(11), { seed: 4 });
    // Told of at each step, it says when the other span is under way.
    const watch = beside.stream({ maxTokens: 4000 });
    const options = { maxTokens: 3000 };
    const chunks = sequence.stream(options);
    const streamed = async () => {
      for (;;) {
        const { value, done } = await chunks.next();
        if (done) return value;
      }
    };
    const running = isStreamed ? streamed() : sequence.generate(options);
    for (let i = 0; i < 20; i += 1) await watch.next();
    await changeWeights();
    const { logprobs, versionRuns, weightsVersion, ids } = await running;
    await watch.return(undefined as never);
    assert.deepEqual(
      versionRuns.map((run) => run.weightsVersion),
      [first, first + 1],
    );
    assert.equal(weightsVersion, first);
    const [before, after] = versionRuns.map(({ numTokens }) => numTokens) as [number, number];
    assert.equal(before + after, ids.length);
    const [byOld, byNew] = await Promise.all(
      [old, model].map(async (each) => (await each.scoreLogprobs(sequence.tokens)).slice(10)),
    );
    assert.deepEqual([...logprobs.slice(0, before)], byOld!.slice(0, before));
    assert.deepEqual([...logprobs.slice(before)], byNew!.slice(before));
    sequence.close();
    beside.close();
    old.close();
  }
});

test("broken weights reject the span and leave the engine usable", async () => {
  const broken = await tinyModel();
  await using engine = await Engine.open(broken);
  const sequence = engine.open(prompt(10), { seed: 1 });
  await sequence.generate({ maxTokens: 3 });
  await using breaker = await Trainer.open(broken);
  const rows = Int32Array.from({ length: 9 }, (_, i) => i);
  await breaker.accumulate([{ tokens: prompt(10), rows, weights: new Float32Array(9).fill(1) }]);
  await breaker.step({ learningRate: 1e38 });
  await assert.rejects(sequence.generate({ maxTokens: 3 }), { code: "ERR_RANGE" });
  assert.equal(sequence.length, 13);
  await assert.rejects(sequence.generate({ maxTokens: 3 }), { code: "ERR_RANGE" });
  sequence.close();
  assert.equal((await engine.stats()).numUsedBlocks, 0);
});
