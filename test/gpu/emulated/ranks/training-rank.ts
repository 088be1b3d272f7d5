/**
 * One rank of a small training on a GPU, emulated: `node training-rank.js DEVICE OPTIONS [FOLDER]`, with torchrun's variables;
 * without them, one process. OPTIONS are JSON: those of the learners, `steps`, a `fault` of rank 1's NCCL, `isImproved`
 * for reinforcement in place of imitation, and the name of a `shape`; each step tells how the model scores the sequences.
 */
import { ProcessGroup } from "../../../../lib/comm/process-group.ts";
import { Engine } from "../../../../lib/engine/engine.ts";
import type { Model } from "../../../../lib/model/model.ts";
import { algorithms } from "../../../../lib/train/algorithm/algorithm.ts";
import type { LearnerOptions } from "../../../../lib/train/learner/learner-options.ts";
import { scoreSequences, Trainer } from "../../../../lib/train/learner/trainer.ts";
import { rl } from "../../../../lib/train/rl.ts";
import { sft } from "../../../../lib/train/sft.ts";
import { rolloutsOn } from "../../../train/run/rl-run.ts";
import { filled, noise } from "../../../train/tiny.ts";
import { modelOn, shapes } from "../../models.ts";

const { RANK = "0", WORLD_SIZE = "1", MASTER_PORT = "1" } = process.env;
const [device = "cpu", given = "{}", folder] = process.argv.slice(2);
const {
  steps = 2,
  fault,
  isImproved = false,
  shape = "biases and a tied head",
  ...learner
} = JSON.parse(given) as LearnerOptions & {
  readonly steps?: number;
  readonly fault?: string;
  readonly isImproved?: boolean;
  readonly shape?: string;
};
if (RANK === "1" && fault !== undefined) process.env["SEEKRL_EMULATED_NCCL_FAULT"] = fault;

const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

const sequences = [12, 9, 25, 8].map((length, seed) => {
  const tokens = Int32Array.from({ length }, (_, t) => Math.floor(noise(seed, t) * 91));
  const rows = Int32Array.from({ length: length - 6 }, (_, i) => 5 + i);
  return { tokens, rows, weights: filled(rows.length, () => 1) };
});

/** Draws on the GPU, in turns of a few tokens, and learns from them. */
async function improve(
  model: Model,
  trainer: Trainer,
  tellStep: (metrics: object) => Promise<void>,
): Promise<void> {
  await using engine = await Engine.open(model, { numBlocks: 40, blockTokens: 16 });
  await rl({
    learners: { trainer },
    task: {
      questions: [0, 1].map((i) => ({ id: `q${i}`, question: `${i}`, answers: ["x"] })),
      rollout: rolloutsOn(engine),
      reward: ({ segments }) =>
        segments.flatMap(({ tokens }) => [...tokens]).filter((id) => id < 48).length / 9,
    },
    algorithm: { ...algorithms.grpo, kl: undefined },
    ...{ batch: { questions: 2, samples: 4, maxTokens: 64 }, steps, learningRate: { policy: () => 1e-3 } },
    onStep: (metrics) => tellStep({ ...metrics, loss: metrics["policy/loss"] }),
  });
}

async function train(processGroup: ProcessGroup): Promise<void> {
  await using model = await modelOn(device as "cpu" | "emulated", shapes[shape]!);
  await using trainer = await Trainer.open(model, { ...learner, processGroup });
  const weights = async () => {
    const own = shapes[shape]!.qkvBias ? "q_proj.bias" : "q_norm.weight";
    const attention = await model.parameter(`model.layers.1.self_attn.${own}`);
    return [...(await model.parameter("model.norm.weight")), ...attention];
  };
  const tellStep = async (step: object): Promise<void> => {
    await trainer.gatherWeights();
    const { logprobs } = await scoreSequences(model, sequences, {});
    tell({ ...step, weights: await weights(), scores: logprobs.flatMap((each) => [...each]) });
  };
  try {
    if (isImproved) return await improve(model, trainer, tellStep);
    await scoreSequences(model, sequences, {});
    await sft({
      ...{ trainer, steps, learningRate: () => 1e-3, maxTokens: 40 },
      batch: () => sequences,
      run: folder === undefined ? undefined : { folder, checkpointEvery: 1 },
      onStep: async ({ step, loss, grad_norm }) => {
        // With a folder, nothing looks at weights before the checkpoint.
        if (folder !== undefined) return void tell({ step });
        await tellStep({ step, loss, grad_norm });
      },
    });
  } catch (error) {
    processGroup.fail(error);
    const { code, message } = error as { code: string; message: string };
    tell({ code, message, weights: await weights() });
    process.exitCode = 1;
  }
}

const place = { rank: Number(RANK), size: Number(WORLD_SIZE), port: Number(MASTER_PORT), patienceMs: 4000 };
const processGroup = await ProcessGroup.open(place);
await train(processGroup);
await processGroup.close();
