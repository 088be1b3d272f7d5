/**
 * How long does a rollout of searching trajectories take, against loops over Hugging Face transformers on the same model?
 *
 * `node dist/bench/engine/rollout.js [--shape world] [--dtype float32] [--threads 2] [--trajectories 16] [--turns 4]
 * [--prompt 100] [--new 60] [--observation 300] [--rounds 3]`; the peer is bench/engine/rollout_peer.py, which gives the
 * same trajectories to a loop that sends the whole context again each turn and to one that keeps its cache.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    shape: { type: "string", default: "world" },
    dtype: { type: "string", default: "float32" },
    threads: { type: "string", default: "2" },
    trajectories: { type: "string", default: "16" },
    turns: { type: "string", default: "4" },
    prompt: { type: "string", default: "100" },
    new: { type: "string", default: "60" },
    observation: { type: "string", default: "300" },
    rounds: { type: "string", default: "3" },
  },
});
const shape = shapeOf(values.shape);
const dtype = values.dtype === "bfloat16" ? "bfloat16" : "float32";
const maxTokens = Number(values.new);
const numTurns = Number(values.turns);

await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape }, { dtype });
// Peers decode a token a step, and random weights repeat themselves.
const promptLookup = false;
await using engine = await Engine.open(model, { promptLookup });

/** Ids that no other place of the bench has, so that nothing is found that was read before. */
const ids = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, t) => (t * 31 + salt * 7) % shape.vocabSize);

async function play(trajectory: number, round: number): Promise<void> {
  const sequence = engine.open(ids(Number(values.prompt), 1009 * round + trajectory));
  for (let turn = 0; turn < numTurns; turn += 1) {
    if (turn > 0) sequence.append(ids(Number(values.observation), 1009 * round + 100 * turn + trajectory));
    await sequence.generate({ maxTokens, stopIds: [] });
  }
  sequence.close();
}

const seconds: number[] = [];
for (let round = 0; round <= Number(values.rounds); round += 1) {
  const started = performance.now();
  await Promise.all(Array.from({ length: Number(values.trajectories) }, (_, i) => play(i, round)));
  if (round > 0) seconds.push((performance.now() - started) / 1000);
}
seconds.sort((a, b) => a - b);
const { numPrefilled, numGenerated } = await engine.stats();
const result = {
  promptLookup,
  median: seconds[seconds.length >> 1],
  best: seconds[0],
  numPrefilled,
  numGenerated,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
