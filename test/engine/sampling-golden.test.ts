/** Sampling options do what transformers' processors and vLLM's penalties do (test/golden/sampling/make_sampling.py). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { SamplingOptions } from "../../lib/engine/sampling-options.ts";
import { Model } from "../../lib/model/model.ts";
import { projectRoot } from "../project.ts";
import { generateOnce } from "./models.ts";

const golden = join(projectRoot, "test", "golden");
const { prompt, greedy, kept } = JSON.parse(
  readFileSync(join(golden, "sampling", "sampling.json"), "utf8"),
) as {
  prompt: number[];
  greedy: { options: SamplingOptions; ids: number[] }[];
  kept: { options: SamplingOptions; probabilities: [number, number][] }[];
};
let model: Model;
let engine: Engine;

before(async () => {
  model = await Model.load(join(golden, "model", "qwen2"));
  engine = await Engine.open(model);
});

after(async () => {
  await engine.close();
  model.close();
});

test("greedy spans under penalties, bias and bad words are transformers' and vLLM's", async () => {
  assert.equal(greedy.length, 9);
  for (const { options, ids } of greedy) {
    const span = await generateOnce(engine, Int32Array.from(prompt), {
      ...options,
      temperature: 0,
      maxTokens: ids.length,
    });
    assert.deepEqual([...span.ids], ids, JSON.stringify(options));
  }
});

test("draws under limits follow the probabilities that transformers' warpers leave", async () => {
  const numDraws = 1500;
  const root = engine.open(prompt);
  for (const { options, probabilities } of kept) {
    const counts = new Map<number, number>();
    for (let seed = 0; seed < numDraws; seed += 1) {
      const fork = root.fork({ seed });
      const { ids } = await fork.generate({ ...options, maxTokens: 1 });
      fork.close();
      counts.set(ids[0]!, (counts.get(ids[0]!) ?? 0) + 1);
    }
    const expected = new Map(probabilities);
    for (const id of counts.keys()) assert.ok(expected.has(id), `${JSON.stringify(options)}: ${id}`);
    for (const [id, probability] of expected) {
      const deviation = Math.sqrt(numDraws * probability * (1 - probability));
      const excess = Math.abs((counts.get(id) ?? 0) - numDraws * probability);
      assert.ok(excess < 4.5 * deviation + 1, `${JSON.stringify(options)}: ${id} ${counts.get(id)}`);
    }
  }
});

test("a span says whether its log-probabilities are those of its draws", async () => {
  const start = Int32Array.from(prompt);
  const drawnFrom = async (options: SamplingOptions): Promise<string> =>
    (await generateOnce(engine, start, { ...options, maxTokens: 1 })).drawnFrom;
  for (const options of [{}, { temperature: 0.5 }, { topP: 1, topK: 0, logitBias: {}, badWords: [] }]) {
    assert.equal(await drawnFrom(options), "policy");
  }
  for (const { options } of kept) assert.equal(await drawnFrom(options), "shaped");
  for (const options of [{ temperature: 0 }, { presencePenalty: 1 }, { badWords: [[1]] }]) {
    assert.equal(await drawnFrom(options), "shaped");
  }
});

test("when every token is forbidden the span fails, and the sequence goes on", async () => {
  const logitBias = Object.fromEntries(Array.from({ length: 96 }, (_, id) => [id, Number.NEGATIVE_INFINITY]));
  const sequence = engine.open(prompt);
  const forbidden = { code: "ERR_RANGE", message: /a constraint, badWords or logitBias that forbid all/ };
  for (const temperature of [0, 1]) {
    await assert.rejects(sequence.generate({ maxTokens: 1, temperature, logitBias }), forbidden);
  }
  assert.equal((await sequence.generate({ maxTokens: 2, temperature: 0 })).ids[0], greedy[0]?.ids[0]);
  sequence.close();
});

test("options out of range are refused by name", async () => {
  const sequence = engine.open(prompt);
  for (const [options, message] of [
    [{ topP: 0 }, /topP: expected a finite number above 0 to 1, got 0/],
    [{ minP: 1.5 }, /minP: expected a finite number from 0 to 1/],
    [{ topK: -1 }, /topK: expected a whole number from 0 on/],
    [{ temperature: -1 }, /temperature: expected a finite number from 0.001 to 1000/],
    [{ repetitionPenalty: 0 }, /repetitionPenalty: expected a finite number from 0.01 to 100/],
    [{ presencePenalty: 3 }, /presencePenalty: expected a finite number from -2 to 2/],
    [
      { logitBias: { 3: Number.NaN } },
      /logitBias: 3: expected a number from -1000000 to 1000000, or -Inf.*NaN/,
    ],
    [{ logitBias: { 5: 1e39 } }, /logitBias: 5: expected a number from/],
    [{ logitBias: { 5: 3e38 }, temperature: 0.001 }, /logitBias: 5: expected a number from/],
    [{ logitBias: { 5: -1e39 } }, /logitBias: 5: expected a number from/],
    [{ logitBias: { 96: 1 } }, /logitBias: expected 0 to 95, got 96/],
    [{ badWords: [[1], []] }, /badWords: 1: expected at least one id, got none/],
    [{ badWords: [[96]] }, /badWords: 0: expected 0 to 95, got 96/],
  ] as const) {
    await assert.rejects(sequence.generate({ ...options, maxTokens: 1 }), { code: "ERR_RANGE", message });
  }
  sequence.close();
});

test("the greatest bias decides at the least temperature, and what is no record of ids is refused", async () => {
  const sequence = engine.open(prompt);
  const sure = { logitBias: { 5: 1e6 }, temperature: 0.001, repetitionPenalty: 100 };
  assert.deepEqual([...(await sequence.generate({ ...sure, maxTokens: 1 })).ids], [5]);
  for (const key of ["", " 5 ", "0x10", "1e2", "-1", "05"]) {
    const refused = { code: "ERR_ARGUMENT", message: /logitBias: expected ids of tokens as keys, got "/ };
    await assert.rejects(sequence.generate({ logitBias: { [key]: 1 }, maxTokens: 1 }), refused);
  }
  for (const logitBias of [new Map([[5, 1]]), new Float32Array(3)]) {
    const refused = {
      code: "ERR_ARGUMENT",
      message: /logitBias: expected {id: bias, ...}, got an object of/,
    };
    await assert.rejects(sequence.generate({ logitBias: logitBias as never, maxTokens: 1 }), refused);
  }
  sequence.close();
});
