/**
 * Are the numbers of a model on a GPU those of the CPU, at the sizes of a real model? `node dist/bench/gpu/numbers.js
 * [--only models|rollout|search] [--device cuda] [--shape qwen2.5-0.5b] [--tiny]` prints a line for each comparison: ok, or what is too
 * far off. Weights are random, the same on both.
 */
import { parseArgs } from "node:util";
import { Dice } from "../../lib/base/random.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model, type ModelOptions } from "../../lib/model/model.ts";
import { VectorIndex } from "../../lib/search/vector-index.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    shape: { type: "string", default: "qwen2.5-0.5b" },
    only: { type: "string" },
    tiny: { type: "boolean", default: false },
  },
});
const { device, tiny } = values;
const shape = { ...shapeOf(values.shape) };

function tell(isGood: boolean, what: string): void {
  if (!isGood) process.exitCode = 1;
  process.stdout.write(`${isGood ? "ok" : "not ok"} - ${what}\n`);
}

const lengths = tiny ? [40, 7, 19] : [300, 37, 129];
const sequences = lengths.map((length, s) => ({
  tokens: Int32Array.from({ length }, (_, t) => (t * 31 + s * 7 + 1) % shape.vocabSize),
  rows: Int32Array.from({ length: length - 1 }, (_, t) => t),
}));
const numRows = lengths.reduce((sum, length) => sum + length - 1, 0);

interface Figures {
  readonly logprobs: readonly number[];
  readonly loss: number;
  readonly gradNorm: number;
  readonly next: number;
}

/** Scores of a few texts, and the loss and the gradient's norm of a step of SFT on them. */
async function figuresOf(
  options: Pick<ModelOptions, "dtype"> & { readonly device: string },
): Promise<Figures> {
  await using model = await Model.create(shape, { ...options, seed: 3 });
  const { logprobs } = await scoreSequences(model, sequences);
  await using trainer = await Trainer.open(model);
  const weighted = sequences.map((each) => ({
    ...each,
    weights: new Float32Array(each.rows.length).fill(1 / numRows),
  }));
  const { loss } = await trainer.accumulate(weighted);
  const { gradNorm } = await trainer.step({ learningRate: 1e-4 });
  const { loss: next } = await trainer.accumulate(weighted);
  return { logprobs: logprobs.flatMap((row) => [...row]), loss, gradNorm, next };
}

function farthest(a: readonly number[], b: readonly number[]): number {
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
}

async function compareModels(): Promise<void> {
  // libtorch must know of every device before it first differentiates.
  const gpu = await figuresOf({ device, dtype: "bfloat16" });
  const exact = await figuresOf({ device: "cpu", dtype: "float32" });
  const cpu = await figuresOf({ device: "cpu", dtype: "bfloat16" });
  const [own, cpus] = [farthest(exact.logprobs, gpu.logprobs), farthest(exact.logprobs, cpu.logprobs)];
  const digits = (value: number): string => value.toExponential(2);
  // What bf16 costs on the CPU it may cost twice here, where products are summed in another order.
  tell(own <= 2 * cpus + 1e-3, `log-probabilities: ${digits(own)} from f32, the CPU's bf16 ${digits(cpus)}`);
  const loss = Math.abs(gpu.loss / cpu.loss - 1);
  tell(loss < 5e-3, `loss: ${gpu.loss}, the CPU's ${cpu.loss}`);
  const norm = Math.abs(gpu.gradNorm / cpu.gradNorm - 1);
  tell(norm < 0.02, `norm of the gradient: ${gpu.gradNorm}, the CPU's ${cpu.gradNorm}`);
  const next = Math.abs(gpu.next / cpu.next - 1);
  tell(gpu.next < gpu.loss && next < 0.02, `loss after a step: ${gpu.next}, the CPU's ${cpu.next}`);
}

/** Law 4: what is drawn is scored by training to the same bits, alone or in a batch. */
async function compareRolloutWithTraining(): Promise<void> {
  await using model = await Model.create(shape, { device, dtype: "bfloat16", seed: 3 });
  await using engine = await Engine.open(model);
  const prompts = sequences.map(({ tokens }) => tokens);
  const spans = await Promise.all(
    prompts.map(async (prompt) => {
      const sequence = engine.open(prompt);
      const span = await sequence.generate({ maxTokens: tiny ? 4 : 24 });
      sequence.close();
      return span;
    }),
  );
  const drawn = spans.map(({ ids: tokens }, i) => ({
    tokens: Int32Array.of(...prompts[i]!, ...tokens),
    rows: Int32Array.from(tokens, (_, t) => prompts[i]!.length - 1 + t),
  }));
  const { logprobs } = await scoreSequences(model, drawn);
  const isSame = spans.every((span, i) => span.logprobs.every((value, t) => value === logprobs[i]![t]));
  tell(isSame, `${drawn.length} sequences drawn together are scored to the same bits`);
  // A second time the shapes of the batch are known, and its steps are one launch each.
  const again = prompts.map((prompt) => engine.open(prompt));
  await Promise.all(again.map((sequence) => sequence.generate({ maxTokens: tiny ? 4 : 24 })));
  const { numReplays, graphRefusal } = await engine.stats();
  for (const sequence of again) sequence.close();
  tell(
    numReplays > 0 && graphRefusal === undefined,
    `${numReplays} steps were graphs; refusal: ${graphRefusal ?? "none"}`,
  );
}

async function compareSearch(): Promise<void> {
  const [dim, count] = tiny ? [64, 1003] : [768, 100_003];
  const dice = new Dice(1, 0);
  const vectors = new Float32Array(dim * count);
  for (let i = 0; i < vectors.length; i += 1) vectors[i] = Math.round(4 * dice.next() - 2);
  const found = await Promise.all(
    ["cpu", device].map(async (where) => {
      const index = VectorIndex.create("exact", {
        ...{ dim, metric: "ip", dtype: "bf16", capacity: count, device: where },
      });
      await index.add(vectors);
      const hits = await index.search(vectors.subarray(0, 7 * dim), { topK: 10 });
      index.close();
      return JSON.stringify([[...hits.ids], [...hits.scores]]);
    }),
  );
  tell(found[0] === found[1], `exact search of ${count} vectors: ids and scores are the CPU's`);
}

const comparisons = { models: compareModels, rollout: compareRolloutWithTraining, search: compareSearch };
for (const [name, compare] of Object.entries(comparisons))
  if ((values.only ?? name) === name) await compare();
