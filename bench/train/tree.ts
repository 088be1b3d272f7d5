/**
 * How much faster does a question train whose samples' prompt is run once, than when each sample runs its own? And how
 * far are the gradients apart?
 *
 * `node dist/bench/train/tree.js [--prompt 1000] [--samples 8] [--answer 200] [--layers 8] [--width 512] [--vocab 8192]
 * [--dtype float32] [--threads 2] [--rounds 5]`. The peer is the same trainer on prompts of the same length that begin
 * with different tokens, so that nothing is shared; in the comparison of gradients, on each sample alone.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Model } from "../../lib/model/model.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";

const { values } = parseArgs({
  options: {
    prompt: { type: "string", default: "1000" },
    samples: { type: "string", default: "8" },
    answer: { type: "string", default: "200" },
    layers: { type: "string", default: "8" },
    width: { type: "string", default: "512" },
    vocab: { type: "string", default: "8192" },
    dtype: { type: "string", default: "float32" },
    threads: { type: "string", default: "2" },
    rounds: { type: "string", default: "5" },
  },
});

const [prompt, answer, width, vocabSize] = [values.prompt, values.answer, values.width, values.vocab].map(
  Number,
) as [number, number, number, number];
const numSamples = Number(values.samples);
const dtype = values.dtype === "bfloat16" ? "bfloat16" : "float32";

/** The samples of one question; each with an opening token of its own unless they share their prompt. */
function samples(isShared: boolean): TrainSequence[] {
  return Array.from({ length: numSamples }, (_, sample) => {
    const tokens = Int32Array.from(
      { length: prompt + answer },
      (_, t) => (t * 31 + (t < prompt ? 0 : (sample + 1) * 7)) % vocabSize,
    );
    if (!isShared) tokens[0] = sample + 1;
    const rows = Int32Array.from({ length: answer }, (_, t) => prompt - 1 + t);
    return { tokens, rows, weights: new Float32Array(answer).fill(1 / (answer * numSamples)) };
  });
}

await native().setNumThreads(Number(values.threads));
await using model = await Model.create(
  {
    vocabSize,
    hiddenSize: width,
    intermediateSize: 3 * width,
    numLayers: Number(values.layers),
    numHeads: width / 64,
    numKvHeads: width / 128,
    maxPosition: prompt + answer,
    tieEmbeddings: true,
  },
  { dtype, seed: 1, std: 0.05 },
);
await using trainer = await Trainer.open(model);

const shared = samples(true);
const contestants = [shared, samples(false)] as const;
const work = {
  train: (sequences: readonly TrainSequence[]) => trainer.accumulate(sequences),
  score: (sequences: readonly TrainSequence[]) => scoreSequences(model, sequences),
};
const median = (sample: readonly number[]): number =>
  [...sample].sort((a, b) => a - b)[Math.floor(sample.length / 2)]!;

/** Median seconds of both, taken in turns behind one round that is not counted. */
async function compare(run: (sequences: readonly TrainSequence[]) => Promise<unknown>) {
  const seconds: [number[], number[]] = [[], []];
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    for (const [i, sequences] of contestants.entries()) {
      const started = performance.now();
      await run(sequences);
      if (round > 0) seconds[i]!.push((performance.now() - started) / 1000);
    }
  }
  const [tree, apart] = seconds.map(median) as [number, number];
  return { tree, apart, ratio: Number((apart / tree).toFixed(2)) };
}

/** The gradients of all parameters, end to end. */
async function gradients(calls: readonly (readonly TrainSequence[])[]): Promise<Float32Array[]> {
  await trainer.zeroGradients();
  for (const sequences of calls) await trainer.accumulate(sequences);
  return Promise.all(model.handle.tensors().map(({ name }) => trainer.gradient(name)));
}

const [together, alone] = [await gradients([shared]), await gradients(shared.map((one) => [one]))];
const norm = (all: readonly Float32Array[]): number =>
  Math.sqrt(all.reduce((sum, one) => one.reduce((part, value) => part + value * value, sum), 0));
const gap = norm(together.map((one, i) => one.map((value, at) => value - alone[i]![at]!)));
const logprobs = [
  await trainer.logprobs(shared),
  ...(await Promise.all(shared.map((one) => trainer.logprobs([one])))),
];
const result = {
  tokens: { tree: prompt + numSamples * (answer - 1), apart: numSamples * (prompt + answer - 1) },
  train: await compare(work.train),
  score: await compare(work.score),
  gradientGap: gap / norm(alone),
  equalLogprobs: logprobs[0]!.every(
    (values, i) => Buffer.compare(Buffer.from(values.buffer), Buffer.from(logprobs[i + 1]![0]!.buffer)) === 0,
  ),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
