/** Whether a device computes: a tiny model generates on it, and training gives its tokens the same numbers. */
import { SeekError } from "../../../lib/base/errors.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { scoreSequences } from "../../../lib/train/learner/trainer.ts";

/** What a check found. */
interface DeviceCheck {
  readonly device: string;
  /** That were generated and scored again: the same bits. */
  readonly tokens: number;
  /** From nothing to the result: loading libtorch, making the model, generating, scoring. */
  readonly seconds: number;
}

/** Heads of a width that a card's kernels have. */
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

/**
 * Generates on a device and scores what came (law 4).
 *
 * @param device - `cpu` or `cuda`
 * @returns what was compared
 * @throws ERR_DEVICE where the device does not run, or its two ways to a log-probability differ
 */
export async function checkDevice(device: string): Promise<DeviceCheck> {
  const started = performance.now();
  await using model = await Model.create(shape, { device, dtype: "bfloat16", seed: 1, std: 0.08 });
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 16 });
  const prompt = Int32Array.from({ length: 20 }, (_, i) => (i * 37 + 5) % shape.vocabSize);
  await using sequence = engine.open(prompt, { seed: 1 });
  const span = await sequence.generate({ maxTokens: 12 });
  const tokens = Int32Array.of(...prompt, ...span.ids);
  const rows = Int32Array.from(span.ids, (_, i) => prompt.length - 1 + i);
  const { logprobs } = await scoreSequences(model, [{ tokens, rows }], {});
  const scored = logprobs[0] ?? [];
  const differing = span.logprobs.findIndex((logprob, i) => !(logprob === scored[i] && logprob <= 0));
  if (differing !== -1 || scored.length !== span.ids.length)
    throw new SeekError(
      "ERR_DEVICE",
      `${device}: token ${differing} was generated with log-probability ${span.logprobs[differing]} and scored with ` +
        `${scored[differing]}. Remedy: run the native tests of a checkout (npm test -- native), and report what they say`,
    );
  return { device, tokens: span.ids.length, seconds: (performance.now() - started) / 1000 };
}
