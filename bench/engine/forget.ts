/**
 * What does a pop of the memory stack cost, against reading the shortened context anew as a loop over `generate` does?
 *
 * `node dist/bench/engine/forget.js [--threads 2] [--context 2048] [--popped 512] [--rounds 15]`; both give the same
 * token, and take turns.
 */
import { parseArgs } from "node:util";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";

const { values } = parseArgs({
  options: {
    threads: { type: "string", default: "2" },
    context: { type: "string", default: "2048" },
    popped: { type: "string", default: "512" },
    rounds: { type: "string", default: "15" },
  },
});
const [context, popped] = [Number(values.context), Number(values.popped)];
const numFeedback = 48;

// The built-in world's sizes; a context of thoughts and passages, whose last frame gives way to a feedback of 48 tokens.
const shape = { vocabSize: 1500, hiddenSize: 128, intermediateSize: 384, numLayers: 4, numHeads: 4 };
await native().setNumThreads(Number(values.threads));
await using model = await Model.create({ ...shape, numKvHeads: 2, maxPosition: 8192, tieEmbeddings: true });
const promptLookup = false;
await using engine = await Engine.open(model, { promptLookup });

const tokens = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, t) => (t * 31 + salt * 7) % 1500);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const forgetting: number[] = [];
const anew: number[] = [];
for (let i = 0; i < Number(values.rounds); i += 1) {
  using sequence = engine.open(tokens(context, i), { seed: i });
  await sequence.generate({ maxTokens: 1 });
  const feedback = tokens(numFeedback, i + 99);
  const left = Int32Array.from([...tokens(context - popped, i), ...feedback]);
  forgetting.push(
    await timed(() => {
      sequence.truncate(context - popped);
      sequence.append(feedback);
      return sequence.generate({ maxTokens: 1 });
    }),
  );
  using fresh = engine.open(left, { seed: i });
  anew.push(await timed(() => fresh.generate({ maxTokens: 1 })));
  if (sequence.tokens.at(-1) !== fresh.tokens.at(-1)) throw new Error("the two do not agree");
}
const median = (sample: number[]): number => sample.sort((a, b) => a - b)[Math.floor(sample.length / 2)]!;
const [forgetMs, anewMs] = [median(forgetting), median(anew)];
const result = { promptLookup, context, popped, forgetMs, anewMs, ratio: anewMs / forgetMs };
process.stdout.write(`${JSON.stringify(result)}\n`);
