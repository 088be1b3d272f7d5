/**
 * One rank of a small training on a card, emulated: `node training-rank.js DEVICE OPTIONS [FOLDER]`, with torchrun's variables;
 * without them, one process. OPTIONS are JSON: those of the learners, `steps`, and a `fault` of rank 1's NCCL.
 */
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { sft } from "../../../lib/train/sft.ts";
import { filled, noise } from "../../train/tiny.ts";
import { modelOn, shapes } from "../models.ts";

const { RANK = "0", WORLD_SIZE = "1", MASTER_PORT = "1" } = process.env;
const [device = "cpu", given = "{}", folder] = process.argv.slice(2);
const {
  steps = 2,
  fault,
  ...learner
} = JSON.parse(given) as LearnerOptions & { readonly steps?: number; readonly fault?: string };
if (RANK === "1" && fault !== undefined) process.env["SEEKRL_EMULATED_NCCL_FAULT"] = fault;

const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

const sequences = [17, 9, 40, 12].map((length, seed) => {
  const tokens = Int32Array.from({ length }, (_, t) => Math.floor(noise(seed, t) * 91));
  const rows = Int32Array.from({ length: length - 6 }, (_, i) => 5 + i);
  return { tokens, rows, weights: filled(rows.length, () => 1) };
});

async function train(processGroup: ProcessGroup): Promise<void> {
  await using model = await modelOn(device as "cpu" | "emulated", shapes["biases and a tied head"]!);
  await using trainer = await Trainer.open(model, { ...learner, processGroup });
  const weights = async () => {
    const bias = await model.parameter("model.layers.1.self_attn.q_proj.bias");
    return [...(await model.parameter("model.norm.weight")), ...bias];
  };
  try {
    await sft({
      ...{ trainer, steps, learningRate: () => 1e-3, maxTokens: 40 },
      batch: () => sequences,
      run: folder === undefined ? undefined : { folder, checkpointEvery: 1 },
      onStep: async ({ step, loss, grad_norm }) => {
        // With a folder, nothing looks at weights before the checkpoint.
        if (folder !== undefined) return void tell({ step });
        await trainer.gatherWeights();
        tell({ step, loss, grad_norm, weights: await weights() });
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
