/** When the host waits for a GPU, emulated: for a call's figures and for a step's norm, not for micro-batches; for draws. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Engine } from "../../../lib/engine/engine.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import type { Learner } from "../../../lib/train/learner/learner.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import { type LossOptions, Trainer } from "../../../lib/train/learner/trainer.ts";
import { filled, noise } from "../../train/tiny.ts";
import { ids, modelOn, shapes } from "../models.ts";

let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-waits-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** What the host waited for meanwhile, in order. */
async function waitsOf(work: () => Promise<unknown>): Promise<string[]> {
  const file = join(folder, "waits");
  await writeFile(file, "");
  process.env["SEEKRL_EMULATED_WAITS"] = file;
  try {
    await work();
  } finally {
    delete process.env["SEEKRL_EMULATED_WAITS"];
  }
  return (await readFile(file, "utf8")).split("\n").slice(0, -1);
}

function sequence(seed: number): TrainSequence {
  const length = 12 + (seed % 5);
  const each = (from: number, to: number, salt: number) =>
    filled(length - 6, (i) => from + noise(seed + salt, i) * (to - from));
  return {
    tokens: ids(length, seed),
    rows: Int32Array.from({ length: length - 6 }, (_, i) => 5 + i),
    weights: each(0, 0.05, 40),
    advantages: each(-1, 1, 50),
    oldLogprobs: each(-5, -4, 60),
    rolloutLogprobs: each(-5, -4, 70),
    referenceLogprobs: each(-5, -4, 80),
    returns: each(-1, 1, 90),
    oldValues: each(-1, 1, 100),
  };
}

/** So many micro-batches, each of one sequence. */
const sequencesOf = (count: number): TrainSequence[] => Array.from({ length: count }, (_, i) => sequence(i));
const alone = { maxTokens: 1 };

/** One step of 2 and one of 6 micro-batches wait alike: once for what is told of them, once for the norm. */
async function expectFixedWaits<Options>(
  learner: Learner & { accumulate(sequences: TrainSequence[], options: Options): Promise<unknown> },
  options: Options,
): Promise<void> {
  const step = async (count: number): Promise<void> => {
    await learner.accumulate(sequencesOf(count), { ...options, ...alone });
    await learner.step({ learningRate: 1e-3 });
  };
  // Tables that a GPU keeps are there from its first step on.
  await step(1);
  for (const count of [2, 6]) {
    const waits = await waitsOf(() => step(count));
    assert.deepEqual(waits, ["copy home", "aten::_local_scalar_dense"], `${count} micro-batches`);
  }
}

const losses: Readonly<Record<string, LossOptions>> = {
  likelihood: {},
  clipped: { objective: "clipped", clipDual: 3 },
  "one ratio a sequence": { objective: "clipped-sequence" },
  "KL and entropy": { objective: "clipped", entropyCoef: 0.01, kl: { estimator: "k3", coef: 0.05 } },
};
const forms: Readonly<Record<string, LearnerOptions>> = {
  "8-bit moments": { moments: "8-bit" },
  "without masters": { masterWeights: false },
  "recomputed layers": { activationBytes: 0 },
};
const plain = shapes["biases and a tied head"]!;

for (const [name, loss] of Object.entries(losses)) {
  test(`a step waits for its figures and its norm, however many micro-batches it has: ${name}`, async () => {
    await using model = await modelOn("emulated", plain);
    await using trainer = await Trainer.open(model);
    await expectFixedWaits(trainer, loss);
  });
}

for (const [name, options] of Object.entries(forms)) {
  test(`a step waits for its figures and its norm: ${name}`, async () => {
    await using model = await modelOn("emulated", shapes["Gemma's norms, bounds and windows"]!);
    await using trainer = await Trainer.open(model, options);
    await expectFixedWaits(trainer, losses["clipped"]!);
  });
}

test("a step of an adapter waits for its figures and its norm, on weights of 16 and of 4 bits", async () => {
  for (const weights of [undefined, "nf4"] as const) {
    await using model = await modelOn("emulated", plain, weights);
    await using adapter = await Adapter.create(model, { rank: 4, alpha: 8, seed: 1 });
    await using trainer = await Trainer.open(adapter, { activationBytes: 0 });
    await expectFixedWaits(trainer, losses["KL and entropy"]!);
  }
});

test("a step of a critic waits for its figures and its norm, with a trunk of its own and with an adapter", async () => {
  await using model = await modelOn("emulated", plain);
  await using adapter = await Adapter.create(model, { rank: 4, alpha: 8, seed: 1 });
  for (const policy of [model, adapter]) {
    await using critic = await Critic.open(policy);
    for (const clip of [0, 0.2]) await expectFixedWaits(critic, { clip });
  }
});

test("a step that reads prompts of several adapters waits for its draws alone", async () => {
  await using model = await modelOn("emulated", plain);
  await using first = await Adapter.create(model, { rank: 4, alpha: 8, seed: 1 });
  await using second = await Adapter.create(model, { rank: 8, alpha: 8, seed: 2 });
  await using engine = await Engine.open(model, { blockTokens: 16, numBlocks: 16 });
  const waits = await waitsOf(() =>
    Promise.all(
      [first, second].map(async (adapter, i) => {
        await using sequence = engine.open(ids(9, i), { adapter });
        await sequence.generate({ maxTokens: 1 });
      }),
    ),
  );
  assert.deepEqual(waits, Array((await engine.stats()).numSteps).fill("copy home"));
});

test("experts that are trained wait once more for each layer that runs: for how many rows each expert has", async () => {
  await using model = await modelOn("emulated", shapes["four experts, each weighed"]!);
  await using trainer = await Trainer.open(model);
  for (const count of [2, 6]) {
    const waits = await waitsOf(() => trainer.accumulate(sequencesOf(count), alone));
    assert.deepEqual(waits, Array(count * model.config.numLayers + 1).fill("copy home"));
  }
});
