/**
 * What does prompt-lookup decoding save where text is copied, and what does it cost where none is?
 *
 * `node dist/bench/engine/copy.js [--shape qwen2.5-0.5b] [--dtype bfloat16] [--threads 2] [--batch 1] [--new 64]
 * [--rounds 3]`. Two tokens that can only follow one another
 * are copied from the output: the best case. Draws at temperature 1 from random weights repeat nothing. Draws of two tokens repeat
 * every three of them, and what follows is as often wrong as right: the worst case. Each is decoded with and without drafts, in
 * turns, and the tokens are compared.
 */
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import type { SamplingOptions } from "../../lib/engine/sampling-options.ts";
import { Model } from "../../lib/model/model.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    shape: { type: "string", default: "qwen2.5-0.5b" },
    dtype: { type: "string", default: "bfloat16" },
    threads: { type: "string", default: "2" },
    batch: { type: "string", default: "1" },
    new: { type: "string", default: "64" },
    rounds: { type: "string", default: "3" },
  },
});
const shape = shapeOf(values.shape);
const [batch, maxTokens] = [Number(values.batch), Number(values.new)];
await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape }, { dtype: values.dtype as "float32" | "bfloat16" });

interface Told {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Tokens, milliseconds on the wall and of processors, and steps of all sequences' continuations. */
async function decode(promptLookup: boolean, sampling: SamplingOptions, seed: number) {
  await using engine = await Engine.open(model, { promptLookup });
  const sequences = Array.from({ length: batch }, (_, s) =>
    engine.open(
      Int32Array.from({ length: 64 }, (_, t) => (t * 31 + s * 7 + seed) % shape.vocabSize),
      { seed: s },
    ),
  );
  await Promise.all(sequences.map((each) => each.generate({ maxTokens: 1, ...sampling })));
  const before = await engine.stats();
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const spans = await Promise.all(sequences.map((each) => each.generate({ maxTokens, ...sampling })));
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  const { numSteps, numDrafted, numAccepted } = await engine.stats();
  return {
    ids: spans.map(({ ids, logprobs }) => [ids, logprobs]),
    told: {
      ms,
      cpuMs: (user + system) / 1000,
      numSteps: numSteps - before.numSteps,
      numDrafted,
      numAccepted,
    },
  };
}

const twoTokens = { 1: 1e6, 2: 1e6 };
const texts: Readonly<Record<string, SamplingOptions>> = {
  copied: {
    temperature: 0,
    logitBias: { 1: 1e6, 2: 2e6 },
    badWords: [
      [1, 1],
      [2, 2],
    ],
  },
  uncopied: { temperature: 1 },
  misleading: { temperature: 1000, logitBias: twoTokens },
};
for (const [text, sampling] of Object.entries(texts)) {
  const told: Record<"plain" | "drafted", Told[]> = { plain: [], drafted: [] };
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const plain = await decode(false, sampling, round);
    const drafted = await decode(true, sampling, round);
    assert.deepEqual(drafted.ids, plain.ids);
    told.plain.push(plain.told);
    told.drafted.push(drafted.told);
  }
  const best = (list: Told[]): Told => list.sort((a, b) => a.ms - b.ms)[0]!;
  const [plain, drafted] = [best(told.plain), best(told.drafted)];
  process.stdout.write(
    `${JSON.stringify({ text, batch, plain, drafted, ratio: plain.ms / drafted.ms, cpuRatio: plain.cpuMs / drafted.cpuMs })}\n`,
  );
}
