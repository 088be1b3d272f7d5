import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { readSafetensorsHeader } from "../../../lib/model/safetensors.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { type LossOptions, Trainer } from "../../../lib/train/learner/trainer.ts";
import { withFolder } from "../run/kill.ts";
import { noise } from "../tiny.ts";
import { goldenFolder, goldenModel, goldenSequences } from "./golden.ts";

const losses: Record<string, LossOptions> = {
  likelihood: { temperature: 0.9 },
  entropy: { objective: "clipped", entropyCoef: 0.5 },
  k1: { objective: "clipped", kl: { estimator: "k1", coef: 0.5 } },
  k2: { objective: "clipped", kl: { estimator: "k2", coef: 0.5 } },
  k3: { objective: "clipped", kl: { estimator: "k3", coef: 0.5 } },
  abs: { objective: "clipped", kl: { estimator: "abs", coef: 0.5 } },
  dual: { objective: "clipped", clipDual: 1.5 },
  sequence: { objective: "clipped-sequence", clipLow: 0.4, clipHigh: 0.4 },
  tis: { objective: "clipped", clipLow: 0.9, clipHigh: 9, correction: { by: "tis", high: 1.2 } },
  mis: { objective: "clipped-sequence", clipLow: 0.9, clipHigh: 9, correction: { by: "mis" } },
};

/** With what the rollout told: the old log-probabilities, off by up to 1.5. */
const sequences = goldenSequences.map((sequence, i) => ({
  ...sequence,
  rolloutLogprobs: sequence.oldLogprobs!.map((old, row) => old + 3 * noise(i, row) - 1.5),
}));

/** Moves one weight matrix of a saved model by `scale` times a direction. */
async function moveWeights(
  folder: string,
  name: string,
  direction: Float32Array,
  scale: number,
): Promise<void> {
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  const stored = (await readSafetensorsHeader(path)).find((tensor) => tensor.name === name)!;
  for (const [i, value] of direction.entries()) {
    const at = stored.offset + 4 * i;
    bytes.writeFloatLE(bytes.readFloatLE(at) + scale * value, at);
  }
  await writeFile(path, bytes);
}

const matrix = "model.layers.0.self_attn.o_proj.weight";
const step = 4e-3;

/** The slope of `lossOf` along the gradient, by central differences: it must be the gradient's length. */
async function slopeAlong(
  gradient: Float32Array,
  lossOf: (model: Model) => Promise<number>,
): Promise<{ slope: number; length: number }> {
  const length = Math.hypot(...gradient);
  const direction = gradient.map((value) => value / length);
  return withFolder(async (folder) => {
    const at = async (scale: number): Promise<number> => {
      await using original = await goldenModel("qwen2");
      await original.save(folder);
      await moveWeights(folder, matrix, direction, scale);
      await using moved = await Model.load(folder);
      return await lossOf(moved);
    };
    return { slope: ((await at(step)) - (await at(-step))) / (2 * step), length };
  });
}

for (const [name, options] of Object.entries(losses)) {
  test(`the ${name} loss passes finite differences`, async () => {
    await using model = await goldenModel("qwen2");
    await using trainer = await Trainer.open(model);
    await trainer.accumulate(sequences, options);
    const { slope, length } = await slopeAlong(await trainer.gradient(matrix), async (moved) => {
      await using other = await Trainer.open(moved);
      return (await other.accumulate(sequences, options)).loss;
    });
    assert.ok(Math.abs(slope - length) < 5e-3 * length, `slope ${slope}, gradient ${length}`);
  });
}

test("the clipped value loss passes finite differences", async () => {
  const state = join(goldenFolder, "qwen2", "critic_state.safetensors");
  const lossOn = async (
    model: Model,
    use: (critic: Critic, loss: number) => Promise<void>,
  ): Promise<void> => {
    await using critic = await Critic.open(model);
    await critic.loadState(state, 0);
    const { loss } = await critic.accumulate(goldenSequences, { clip: 2 });
    await use(critic, loss);
  };
  await using model = await goldenModel("qwen2");
  let gradient = new Float32Array(0);
  await lossOn(model, async (critic) => {
    gradient = new Float32Array(await critic.gradient(matrix));
  });
  const { slope, length } = await slopeAlong(gradient, async (moved) => {
    let result = 0;
    await lossOn(moved, async (_, loss) => {
      result = loss;
    });
    return result;
  });
  assert.ok(Math.abs(slope - length) < 5e-3 * length, `slope ${slope}, gradient ${length}`);
});
