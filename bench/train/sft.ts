/**
 * How many tokens a second does one SFT step train, against Hugging Face transformers on the same model and ids?
 *
 * `node dist/bench/train/sft.js [--threads 2] [--steps 12]`; the peer is bench/train/sft_peer.py with the same flags.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "2" },
    steps: { type: "string", default: "12" },
    maxTokens: { type: "string", default: "4096" },
  },
});

// The built-in world's model; 48 sequences of 250 to 440 tokens, every token in the loss.
const shape = { vocabSize: 1500, hiddenSize: 128, intermediateSize: 344, numLayers: 4, numHeads: 4 };
const sequences = Array.from({ length: 48 }, (_, s) => {
  const length = 250 + ((s * 37) % 200);
  const tokens = Int32Array.from({ length }, (_, t) => (t * 31 + s * 7) % shape.vocabSize);
  return { tokens, rows: Int32Array.from({ length: length - 1 }, (_, t) => t) };
});
const numRows = sequences.reduce((sum, { rows }) => sum + rows.length, 0);
const numTokens = numRows + sequences.length;
const weighted = sequences.map((sequence) => ({
  ...sequence,
  weights: new Float32Array(sequence.rows.length).fill(1 / numRows),
}));

await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape, numKvHeads: 2, maxPosition: 2048, tieEmbeddings: true });
await using trainer = await Trainer.open(model);
const rates: number[] = [];
const cpuRates: number[] = [];
for (let step = 0; step < Number(values.steps) + 2; step += 1) {
  const started = performance.now();
  const cpu = process.cpuUsage();
  await trainer.accumulate(weighted, { maxTokens: Number(values.maxTokens) });
  await trainer.step({ learningRate: 1e-3 });
  const used = process.cpuUsage(cpu);
  if (step < 2) continue;
  rates.push((1000 * numTokens) / (performance.now() - started));
  cpuRates.push((1e6 * numTokens) / (used.user + used.system));
}
const median = (sample: number[]): number => sample.sort((a, b) => a - b)[Math.floor(sample.length / 2)]!;
const best = Math.max(...rates);
const result = {
  parameters: model.numParameters,
  tokensPerStep: numTokens,
  tokensPerSecond: Math.round(median(rates)),
  best: Math.round(best),
  tokensPerCpuSecond: Math.round(median(cpuRates)),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
