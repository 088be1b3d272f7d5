/** One rank that trains 20 million weights and tells how much memory learning has taken: `node memory-rank.js LEVEL`. */
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { native } from "../../../lib/base/addon/native.ts";
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Model } from "../../../lib/model/model.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { zeroLevels } from "../../../lib/train/memory/plan.ts";
import { filled } from "../tiny.ts";

const { RANK, WORLD_SIZE, MASTER_PORT } = process.env;
const shape = {
  ...{ vocabSize: 4000, hiddenSize: 512, intermediateSize: 1408, numLayers: 6 },
  ...{ numHeads: 8, numKvHeads: 8, maxPosition: 64, tieEmbeddings: true },
};

/** Bytes that no file stands behind. */
function ownBytes(): number {
  const [, kilobytes] = /RssAnon:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

const sequences = [0, 1].map((seed) => {
  const tokens = Int32Array.from({ length: 24 }, (_, t) => (t * 37 + seed) % shape.vocabSize);
  const rows = Int32Array.from({ length: 16 }, (_, i) => i + 5);
  return { tokens, rows, weights: filled(rows.length, () => 1 / 32) };
});

await using processGroup = await ProcessGroup.open({
  ...{ rank: Number(RANK), size: Number(WORLD_SIZE), port: Number(MASTER_PORT) },
});
await native().setNumThreads(1);
await using model = await Model.create(shape, { seed: 1, std: 0.02 });
const before = ownBytes();
const zero = zeroLevels.find((level) => level === Number(process.argv[2]));
await using trainer = await Trainer.open(model, { processGroup, zero });
// What is freed goes back to the system a little later: the least after a step is what stays.
let least = Number.POSITIVE_INFINITY;
for (let step = 0; step < 6; step += 1) {
  await trainer.accumulate(sequences);
  await trainer.step({ learningRate: 1e-4 });
  await setTimeout(20);
  if (step >= 2) least = Math.min(least, ownBytes());
}
process.stdout.write(`${JSON.stringify({ numParameters: model.numParameters, taken: least - before })}\n`);
