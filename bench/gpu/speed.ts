/**
 * How fast is the whole engine on a GPU? `node dist/bench/gpu/speed.js [--only small|train|search|large] [--device cuda] [--tiny]`
 * prints a line of JSON for each case of Qwen2.5's 0.5B and 7B, as it is measured; bench/gpu/peer.py measures the same of torch and
 * prints both with their ratio.
 */
import { parseArgs } from "node:util";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { VectorIndex } from "../../lib/search/vector-index.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";
import { shapeOf } from "../shapes.ts";

const { values } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    only: { type: "string" },
    tiny: { type: "boolean", default: false },
  },
});
const { device, tiny } = values;
const [small, large] = tiny ? ["world"] : ["qwen2.5-0.5b", "qwen2.5-7b"];
const rounds = tiny ? 1 : 5;

/** What a case is, as peer.py reads it. */
type Case = { readonly name: string; readonly kind: string } & Readonly<Record<string, string | number>>;

function tell(measured: Case, rate: number, unit: string): void {
  process.stdout.write(`${JSON.stringify({ ...measured, rate: Number(rate.toPrecision(4)), unit })}\n`);
}

/** How often a second, the median of some rounds after one that warms up. */
async function perSecond(run: () => Promise<unknown>): Promise<number> {
  const seconds: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const started = performance.now();
    await run();
    if (round > 0) seconds.push((performance.now() - started) / 1000);
  }
  seconds.sort((a, b) => a - b);
  return 1 / seconds[Math.floor(seconds.length / 2)]!;
}

/** Of any vocabulary here. */
const ids = (length: number, salt: number): Int32Array =>
  Int32Array.from({ length }, (_, t) => (t * 31 + salt * 7 + 1) % 1500);

const modelOf = (name: string): Promise<Model> =>
  Model.create({ ...shapeOf(name) }, { device, dtype: "bfloat16" });

/** Tokens a second of sequences that stand at 512 tokens, at temperature 1; prompts are not counted. */
async function measureDecode(name: string, model: Model, batch: number): Promise<void> {
  await using engine = await Engine.open(model);
  const [numPrompt, numNew] = tiny ? [20, 8] : [512, 64];
  const all = Array.from({ length: batch }, (_, s) => engine.open(ids(numPrompt, s)));
  await Promise.all(all.map((each) => each.generate({ maxTokens: 1 })));
  const rate = await perSecond(() =>
    Promise.all(
      all.map(async (each) => {
        const { length } = each;
        await each.generate({ maxTokens: numNew });
        each.truncate(length);
      }),
    ),
  );
  for (const each of all) each.close();
  const what = `decode ${name}, ${batch} rows at ${numPrompt} tokens`;
  tell({ name: what, kind: "decode", shape: name, batch, length: numPrompt }, rate * batch * numNew, "tok/s");
}

async function measurePrefill(name: string, model: Model): Promise<void> {
  await using engine = await Engine.open(model);
  const length = tiny ? 64 : 2048;
  let salt = 0;
  const rate = await perSecond(async () => {
    salt += 1;
    const sequence = engine.open(ids(length, salt));
    await sequence.generate({ maxTokens: 1 });
    sequence.close();
  });
  tell(
    { name: `prefill ${name}, a prompt of ${length}`, kind: "prefill", shape: name, length },
    rate * length,
    "tok/s",
  );
}

async function measureTraining(): Promise<void> {
  await using model = await modelOf(small!);
  await using trainer = await Trainer.open(model);
  const [count, length] = tiny ? [2, 32] : [16, 1024];
  const sequences = Array.from({ length: count }, (_, s) => ({
    tokens: ids(length, s),
    rows: Int32Array.from({ length: length - 1 }, (_, t) => t),
    weights: new Float32Array(length - 1).fill(1 / (count * (length - 1))),
  }));
  const rate = await perSecond(async () => {
    await trainer.accumulate(sequences, { maxTokens: 16_384 });
    await trainer.step({ learningRate: 1e-5 });
  });
  const what = `train ${small}, ${count} x ${length}`;
  tell({ name: what, kind: "train", shape: small!, count, length }, rate * count * length, "tok/s");
}

async function measureSearch(): Promise<void> {
  const [dim, count] = tiny ? [64, 2000] : [768, 1_000_000];
  const index = VectorIndex.create("exact", { dim, metric: "ip", dtype: "bf16", capacity: count, device });
  const piece = new Float32Array(dim * Math.min(count, 50_000));
  for (let i = 0; i < piece.length; i += 1) piece[i] = Math.sin(i * 0.7);
  for (let at = 0; at < count; at += piece.length / dim) await index.add(piece);
  for (const numQueries of [1, 64]) {
    const queries = piece.subarray(0, numQueries * dim);
    const rate = await perSecond(() => index.search(queries, { topK: 10 }));
    const what = `search ${count} x ${dim}, ${numQueries} queries`;
    tell({ name: what, kind: "search", count, dim, numQueries }, rate * numQueries, "queries/s");
  }
  index.close();
}

async function measureGeneration(name: string): Promise<void> {
  await using model = await modelOf(name);
  for (const batch of tiny ? [1, 3] : [1, 64, 256]) await measureDecode(name, model, batch);
  await measurePrefill(name, model);
}

const groups = {
  small: () => measureGeneration(small!),
  train: measureTraining,
  search: measureSearch,
  // The processor draws its weights: 7.6e9 normal numbers.
  large: async () => (large === undefined ? undefined : await measureGeneration(large)),
};
for (const [name, measure] of Object.entries(groups)) if ((values.only ?? name) === name) await measure();
