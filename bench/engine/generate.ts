/**
 * How many tokens a second does the engine sample, against Hugging Face transformers on the same model and prompts?
 *
 * `node dist/bench/engine/generate.js [--threads 2] [--batch 128] [--group 1] [--rounds 5]`; the peer is
 * bench/engine/generate_peer.py. A group shares its prompt by forks.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "2" },
    batch: { type: "string", default: "128" },
    group: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
  },
});
const batch = Number(values.batch);
const group = Number(values.group);

// The built-in world's sizes; prompts of 64 tokens, 128 sampled tokens each, temperature 1.
const shape = { vocabSize: 1500, hiddenSize: 128, intermediateSize: 384, numLayers: 4, numHeads: 4 };
const numPromptTokens = 64;
const maxTokens = 128;

await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape, numKvHeads: 2, maxPosition: 1024, tieEmbeddings: true });
await using engine = await Engine.open(model);

async function round(seed: number): Promise<void> {
  const roots = Array.from({ length: batch / group }, (_, s) =>
    engine.open(Int32Array.from({ length: numPromptTokens }, (_, t) => (t * 31 + s * 7 + seed) % 1500)),
  );
  const all = roots.flatMap((root) => [root, ...Array.from({ length: group - 1 }, () => root.fork())]);
  await Promise.all(all.map((each) => each.generate({ maxTokens })));
  for (const each of all) each.close();
}

await round(0);
const rates: number[] = [];
const cpuRates: number[] = [];
for (let i = 1; i <= Number(values.rounds); i += 1) {
  const started = performance.now();
  const cpu = process.cpuUsage();
  await round(i);
  const used = process.cpuUsage(cpu);
  rates.push((1000 * batch * maxTokens) / (performance.now() - started));
  cpuRates.push((1e6 * batch * maxTokens) / (used.user + used.system));
}
const median = (sample: number[]): number => sample.sort((a, b) => a - b)[Math.floor(sample.length / 2)]!;
const result = {
  tokensPerSecond: Math.round(median(rates)),
  best: Math.round(Math.max(...rates)),
  tokensPerCpuSecond: Math.round(median(cpuRates)),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
