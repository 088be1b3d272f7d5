/** Whether a device computes: a tiny model generates on it, training gives its tokens the same numbers, and a step trains. */
import { SeekError } from "../../../lib/base/errors.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";

/** What a check found. */
interface DeviceCheck {
  readonly device: string;
  /** That were generated and scored again: the same bits. */
  readonly tokens: number;
  /** Why no step of a GPU was one captured graph; undefined where steps were, and on the CPU. */
  readonly graphRefusal: string | undefined;
  /** From nothing to the result: loading libtorch, making the model, generating, scoring, training. */
  readonly seconds: number;
}

/** Heads of a width that a GPU's kernels have. */
const shape = {
  vocabSize: 96,
  hiddenSize: 64,
  intermediateSize: 96,
  numLayers: 2,
  numHeads: 2,
  numKvHeads: 1,
  headDim: 64,
  maxPosition: 512,
};

interface Sequence {
  readonly tokens: Int32Array;
  readonly rows: Int32Array;
}

const wrong = (device: string, what: string): SeekError =>
  new SeekError(
    "ERR_DEVICE",
    `${device}: ${what}. Remedy: run the native tests of a checkout (npm test -- native), and report what they say`,
  );

interface Generated extends Sequence, Pick<DeviceCheck, "graphRefusal"> {
  readonly logprobs: Float32Array;
}

/** Twelve tokens that the model generates, and the log-probability of each as generation knows it. */
async function generated(model: Model): Promise<Generated> {
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 16 });
  const prompt = Int32Array.from({ length: 20 }, (_, i) => (i * 37 + 5) % shape.vocabSize);
  await using sequence = engine.open(prompt, { seed: 1 });
  const { ids, logprobs } = await sequence.generate({ maxTokens: 12 });
  const rows = Int32Array.from(ids, (_, i) => prompt.length - 1 + i);
  const { graphRefusal } = await engine.stats();
  return { tokens: Int32Array.of(...prompt, ...ids), rows, logprobs, graphRefusal };
}

async function scored(model: Model, sequence: Sequence): Promise<Float32Array> {
  const { logprobs } = await scoreSequences(model, [sequence], {});
  return logprobs[0] ?? new Float32Array();
}

const sum = (values: Float32Array): number => values.reduce((total, value) => total + value, 0);

/** A step towards tokens makes them likelier. */
async function requireTraining(
  model: Model,
  device: string,
  sequence: Sequence,
  before: number,
): Promise<void> {
  await using trainer = await Trainer.open(model);
  const weights = new Float32Array(sequence.rows.length).fill(1 / sequence.rows.length);
  await trainer.accumulate([{ ...sequence, weights }]);
  await trainer.step({ learningRate: 1e-3 });
  const after = sum(await scored(model, sequence));
  if (!(after > before))
    throw wrong(device, `a step towards tokens took their log-probability from ${before} to ${after}`);
}

/**
 * Generates on a device, scores what came (law 4), and takes a training step towards it.
 *
 * @param device - `cpu` or `cuda`
 * @returns what was compared
 * @throws ERR_DEVICE where the device does not run, its two ways to a log-probability differ, or training does not train
 */
export async function checkDevice(device: string): Promise<DeviceCheck> {
  const started = performance.now();
  await using model = await Model.create(shape, { device, dtype: "bfloat16", seed: 1, std: 0.08 });
  const { logprobs, graphRefusal, ...sequence } = await generated(model);
  const again = await scored(model, sequence);
  const differing = logprobs.findIndex((logprob, i) => !(logprob === again[i] && logprob <= 0));
  if (differing !== -1 || again.length !== logprobs.length)
    throw wrong(
      device,
      `token ${differing} was generated with log-probability ${logprobs[differing]} and scored with ${again[differing]}`,
    );
  await requireTraining(model, device, sequence, sum(again));
  return { device, tokens: logprobs.length, graphRefusal, seconds: (performance.now() - started) / 1000 };
}
