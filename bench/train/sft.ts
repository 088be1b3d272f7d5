/**
 * How many tokens a second does one SFT step train, against Hugging Face transformers on the same model and ids?
 *
 * `node dist/bench/train/sft.js [--shape world] [--dtype float32] [--threads 2] [--sequences 48] [--length 0] [--share 1]
 * [--steps 12] [--lora 0] [--moments 8-bit] [--stochastic] [--activationGib 1000]`; the peer is bench/train/sft_peer.py with
 * the same flags. Length 0: 250 to 440 tokens; share: of the tokens that the loss looks at, the last ones of each
 * sequence; lora: rank of an adapter on every projection, trained in place of the weights.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    shape: { type: "string", default: "world" },
    dtype: { type: "string", default: "float32" },
    sequences: { type: "string", default: "48" },
    length: { type: "string", default: "0" },
    share: { type: "string", default: "1" },
    threads: { type: "string", default: "2" },
    steps: { type: "string", default: "12" },
    lora: { type: "string", default: "0" },
    maxTokens: { type: "string", default: "4096" },
    moments: { type: "string", default: "float32" },
    stochastic: { type: "boolean", default: false },
    activationGib: { type: "string", default: "1000" },
  },
});

const shape = shapeOf(values.shape);
const dtype = values.dtype === "bfloat16" ? "bfloat16" : "float32";
const sequences = Array.from({ length: Number(values.sequences) }, (_, s) => {
  const length = Number(values.length) || 250 + ((s * 37) % 200);
  const tokens = Int32Array.from({ length }, (_, t) => (t * 31 + s * 7) % shape.vocabSize);
  const first = Math.floor((1 - Number(values.share)) * (length - 1));
  return { tokens, rows: Int32Array.from({ length: length - 1 - first }, (_, t) => first + t) };
});
const numRows = sequences.reduce((sum, { rows }) => sum + rows.length, 0);
const numTokens = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
const weighted = sequences.map((sequence) => ({
  ...sequence,
  weights: new Float32Array(sequence.rows.length).fill(1 / numRows),
}));

await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape }, { dtype });
const rank = Number(values.lora);
const policy = rank > 0 ? await Adapter.create(model, { rank }) : model;
await using trainer = await Trainer.open(policy, {
  moments: values.moments === "8-bit" ? "8-bit" : "float32",
  masterWeights: !values.stochastic,
  activationBytes: Number(values.activationGib) * 2 ** 30,
});
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
  trained: policy.numParameters,
  tokensPerStep: numTokens,
  tokensPerSecond: Math.round(median(rates)),
  best: Math.round(best),
  tokensPerCpuSecond: Math.round(median(cpuRates)),
  peakGigabytes: Number((process.resourceUsage().maxRSS / 1e6).toFixed(2)),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
