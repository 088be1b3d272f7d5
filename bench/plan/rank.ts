/**
 * One process of bench/plan/check.ts: meets the others and does what its arguments say, several times, all at the same time.
 * Prints a JSON object of the best times, in seconds.
 *
 * `node dist/bench/plan/rank.js parts|collective|tiny|STEP [--repeats 5]`, with the variables of `seekrl launch`. `parts`: each alone, side
 * by side; the others, of which STEP is a name in sizes.ts: one training of all.
 */
import { parseArgs } from "node:util";
import { placeOf } from "../../apps/cluster/launch-variables.ts";
import type { MeasuredPoint } from "../../apps/plan/measured.ts";
import { native } from "../../lib/base/addon/native.ts";
import { ProcessGroup } from "../../lib/comm/process-group.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { trainingSteps } from "./rollouts.ts";
import {
  best,
  type CheckedStep,
  deep,
  heldOut,
  ids,
  known,
  miniBatches,
  rl,
  samplesOf,
  sft,
  shape,
  textsOf,
} from "./sizes.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { repeats: { type: "string", default: "5" } },
});
const [what = "parts"] = positionals;
const repeats = Number(values.repeats);
const place = placeOf();
const meeting = place && { rank: place.rank, size: place.size, address: place.address, port: place.port };
const group = meeting && (await ProcessGroup.open({ ...meeting, patienceMs: 60_000 }));
await native().setNumThreads(1);
/** One training of all processes, whose activations have room. */
const ofAll = { activationBytes: 2 ** 33, processGroup: group };

/** Seconds of some work, all processes beginning each repeat together; the first is not counted. */
async function timed(name: string, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i <= repeats; i += 1) {
    await group?.allGather(`${name} ${i}`, i);
    const started = performance.now();
    await work();
    times.push((performance.now() - started) / 1000);
  }
  return best(times.slice(1));
}

type Texts = readonly TrainSequence[];

/** A micro-batch each; what samples share counts once. */
async function trainedPoints(name: string, trainer: Trainer, batches: readonly (readonly [number, Texts])[]) {
  const points: MeasuredPoint[] = [];
  for (const [size, texts] of batches) {
    const loss = name === "sft" ? {} : { objective: "clipped" as const, entropyCoef: 0.001 };
    points.push({ size, seconds: await timed(`${name} ${size}`, () => trainer.accumulate(texts, loss)) });
  }
  return points;
}

async function partsOf(): Promise<object> {
  await using model = await Model.create(shape, { dtype: "float32" });
  await using trainer = await Trainer.open(model, { activationBytes: 2 ** 33 });
  const texts = (count: number) => [count * sft.length, textsOf({ ...sft, texts: count })] as const;
  const { prompt, turn, observation } = rl;
  const samples = rl.samples / miniBatches;
  const groups = (questions: number) =>
    [questions * (prompt + samples * (2 * turn + observation)), samplesOf(questions)] as const;
  const [few, some, many] = [texts(1), texts(4), texts(16)];
  const sftPoints = await trainedPoints("sft", trainer, [few, some, many]);
  const rlPoints = await trainedPoints("rl", trainer, [groups(1), groups(3), groups(8)]);
  const forward = await timed("score", () => scoreSequences(model, some[1]));
  const step = await timed("step", () => trainer.step({ learningRate: 0 }));
  return {
    train: { sft: sftPoints, rl: rlPoints },
    ...(await generated(model)),
    forwardSecondsPerToken: forward / some[0],
    optimiserSecondsPerWeight: step / model.numParameters,
  };
}

/** What an engine takes for a token of each of some sequences, in the middle of their texts, and for prompts. */
async function generated(model: Model): Promise<object> {
  const written = async (count: number, length: number, maxTokens: number): Promise<number> => {
    await using engine = await Engine.open(model, { cacheBytes: 2 ** 28, promptLookup: false });
    let salt = 0;
    return await timed(`write ${count} ${length} ${maxTokens}`, async () => {
      salt += 1000;
      const sequences = Array.from({ length: count }, (_, i) =>
        engine.open(ids(length, salt + i), { seed: i }),
      );
      await Promise.all(sequences.map((sequence) => sequence.generate({ maxTokens, stopIds: [] })));
      for (const sequence of sequences) sequence.close();
    });
  };
  const [decode, read]: [MeasuredPoint[], MeasuredPoint[]] = [[], []];
  for (const size of [4, 12, 32]) {
    const [short, long] = [await written(size, rl.prompt, 8), await written(size, rl.prompt, 40)];
    decode.push({ size, seconds: (long - short) / 32 });
  }
  for (const count of [2, 8, 32]) {
    const seconds = await written(count, rl.observation, 1);
    read.push({ size: count * rl.observation, seconds });
  }
  return { decode, read };
}

/** An update without gradients: what the optimiser and the reduction take, for two numbers of weights. */
async function collectivesOf(): Promise<object> {
  const found = [];
  for (const each of [shape, deep]) {
    await using model = await Model.create(each, { dtype: "float32" });
    const alone = await Trainer.open(model, { activationBytes: 2 ** 33 });
    const apart = await timed("apart", () => alone.step({ learningRate: 0 }));
    await alone.close();
    await using trainer = await Trainer.open(model, ofAll);
    const together = await timed("together", () => trainer.step({ learningRate: 0 }));
    found.push({ weights: model.numParameters, apart, together });
  }
  return { found };
}

async function sftOf(work: typeof sft, zero: CheckedStep["zero"]): Promise<object> {
  await using model = await Model.create(shape, { dtype: "float32" });
  await using trainer = await Trainer.open(model, { ...ofAll, zero: group === undefined ? 0 : zero });
  const sequences = textsOf(work);
  const seconds = await timed("step", async () => {
    await trainer.accumulate(sequences, {});
    await trainer.step({ learningRate: 1e-6 });
  });
  return { seconds, weights: model.numParameters };
}

async function run(): Promise<object> {
  if (what === "parts") return partsOf();
  if (what === "collective") return collectivesOf();
  if (what === "tiny") {
    const work = { ...rl, questions: 1, samples: 2, prompt: 2, turn: 1, observation: 1, searchMs: 0 };
    return trainingSteps(work, { group, repeats, zero: 0 });
  }
  const { texts, rollouts, zero } = { ...known, ...heldOut }[what]!;
  return rollouts === undefined ? sftOf(texts!, zero) : trainingSteps(rollouts, { group, repeats, zero });
}

const result = await run();
if (group === undefined || group.rank === 0) process.stdout.write(`${JSON.stringify(result)}\n`);
await group?.close();
