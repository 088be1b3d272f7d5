/**
 * How many tokens a second does the engine sample, against Hugging Face transformers on the same model and prompts?
 *
 * `node dist/bench/engine/generate.js [--shape world] [--device cpu] [--dtype float32] [--weights int8] [--threads 2] [--batch 128] [--prompt 64]
 * [--new 128] [--group 1] [--topP 1] [--rounds 5]`; the peers are bench/engine/generate_peer.py and, for quantised weights,
 * llama.cpp through bench/engine/generate_llama.mjs. A group shares its prompt by forks.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    shape: { type: "string", default: "world" },
    device: { type: "string", default: "cpu" },
    dtype: { type: "string", default: "float32" },
    weights: { type: "string" },
    prompt: { type: "string", default: "64" },
    new: { type: "string", default: "128" },
    threads: { type: "string", default: "2" },
    batch: { type: "string", default: "128" },
    group: { type: "string", default: "1" },
    topP: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
  },
});
const batch = Number(values.batch);
const group = Number(values.group);

// Temperature 1. The first token of each comes with its prompt.
const shape = shapeOf(values.shape);
const dtype = values.dtype === "bfloat16" ? "bfloat16" : "float32";
const weights = (["int8", "int4", "nf4"] as const).find((form) => form === values.weights);
const numPromptTokens = Number(values.prompt);
const maxTokens = Number(values.new);
const topP = Number(values.topP);

await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape }, { dtype, weights, device: values.device });
// Peers decode a token a step, and random weights repeat themselves.
const promptLookup = false;
await using engine = await Engine.open(model, { promptLookup });

/** Milliseconds until every sequence has its first token, and until all have all. */
async function round(seed: number): Promise<{ prefill: number; all: number }> {
  const started = performance.now();
  const roots = Array.from({ length: batch / group }, (_, s) =>
    engine.open(
      Int32Array.from(
        { length: numPromptTokens },
        (_, t) => (t * 31 + (s + seed * batch) * 7) % shape.vocabSize,
      ),
    ),
  );
  const all = roots.flatMap((root) => [root, ...Array.from({ length: group - 1 }, () => root.fork())]);
  await Promise.all(all.map((each) => each.generate({ maxTokens: 1, topP })));
  const prefill = performance.now() - started;
  await Promise.all(all.map((each) => each.generate({ maxTokens: maxTokens - 1, topP })));
  for (const each of all) each.close();
  return { prefill, all: performance.now() - started };
}

await round(0);
const rates: number[] = [];
const cpuRates: number[] = [];
const prefillRates: number[] = [];
const decodeRates: number[] = [];
for (let i = 1; i <= Number(values.rounds); i += 1) {
  const cpu = process.cpuUsage();
  const { prefill, all } = await round(i);
  const used = process.cpuUsage(cpu);
  rates.push((1000 * batch * maxTokens) / all);
  prefillRates.push((1000 * (batch / group) * numPromptTokens) / prefill);
  decodeRates.push((1000 * batch * (maxTokens - 1)) / (all - prefill));
  cpuRates.push((1e6 * batch * maxTokens) / (used.user + used.system));
}
const median = (sample: number[]): number => sample.sort((a, b) => a - b)[Math.floor(sample.length / 2)]!;
const rounded = (rate: number): number => Number(rate.toPrecision(4));
const result = {
  promptLookup,
  prefill: { median: rounded(median(prefillRates)), best: rounded(Math.max(...prefillRates)) },
  decode: { median: rounded(median(decodeRates)), best: rounded(Math.max(...decodeRates)) },
  tokensPerSecond: Math.round(median(rates)),
  best: Math.round(Math.max(...rates)),
  tokensPerCpuSecond: Math.round(median(cpuRates)),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
