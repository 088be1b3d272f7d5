/**
 * One rank of a small training: `node training-rank.js WHAT [FOLDER] [OPTIONS]`, with torchrun's variables; without them,
 * one process. OPTIONS are JSON: those of the learners, `steps`, `staleness`, `sharesModel`, what is planted, and
 * `rolloutRanks`, with which, 0 included, each step is evaluated by what the weights are.
 */
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import type { Model } from "../../../lib/model/model.ts";
import type { Policy } from "../../../lib/model/policy.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import { runBandit } from "../run/rl-run.ts";
import { runSft, type SftFormName } from "../run/sft-run.ts";
import { type PlantedFault, plantFault } from "./planted-fault.ts";

const { RANK = "0", WORLD_SIZE = "1", MASTER_ADDR = "127.0.0.1", MASTER_PORT = "1" } = process.env;
const [what = "", into, given = "{}"] = process.argv.slice(2);
const folder = into === "" ? undefined : into;
const {
  steps: numSteps,
  staleness,
  rolloutRanks,
  failsAfter,
  fault,
  sharesModel,
  dtype,
  loaded,
  ...learner
} = JSON.parse(given) as Pick<LearnerOptions, "zero" | "gradientShards" | "reduceDtype"> & {
  readonly steps?: number;
  readonly staleness?: number;
  readonly rolloutRanks?: number;
  /** The step after which rank 0 fails by itself. */
  readonly failsAfter?: number;
  readonly fault?: PlantedFault;
  readonly sharesModel?: boolean;
  readonly dtype?: Model["dtype"];
  /** A folder whose numbers are read when they are needed. */
  readonly loaded?: string;
};
if (fault !== undefined) plantFault(fault, Number(RANK));
const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

const probed = [
  "model.layers.0.mlp.up_proj.weight",
  "model.layers.1.self_attn.q_proj.bias",
  "model.norm.weight",
];

async function tellWeights(policy: Policy): Promise<void> {
  const names = what === "adapter" ? [adapterPart] : probed;
  for (const name of names) {
    const values = await (policy as { parameter(name: string): Promise<Float32Array> }).parameter(name);
    tell({ name, values: [...values] });
  }
}

/** A number that any other weights would hardly have. */
async function digest(model: Model): Promise<number> {
  const values = await Promise.all(probed.map((name) => model.parameter(name)));
  return values.flatMap((one) => [...one]).reduce((sum, value, i) => sum + value * (i + 1), 0);
}

const adapterPart = "base_model.model.model.layers.1.mlp.up_proj.lora_B.weight";

async function train(processGroup: ProcessGroup): Promise<void> {
  const onStep = (metrics: { readonly step: number }): void => {
    tell(metrics);
    if (metrics.step === failsAfter && RANK === "0") throw new Error("planted");
  };
  if (what === "ppo" || what === "grpo") {
    const algorithm = algorithms[what];
    const steps = numSteps ?? 4;
    const evaluate =
      rolloutRanks === undefined
        ? {}
        : { evaluate: async (model: Model) => ({ weights: await digest(model) }) };
    const ranks = { staleness, processGroup, sharesModel, rolloutRanks: rolloutRanks || undefined };
    const run = {
      algorithm,
      steps,
      dtype,
      loaded,
      ...ranks,
      ...evaluate,
      learner,
      onStep,
      onEnd: tellWeights,
    };
    await runBandit(folder === undefined ? run : { ...run, folder });
    return;
  }
  const rest = { processGroup, sharesModel, learner, onEnd: tellWeights };
  const forms: Record<string, SftFormName> = {
    adapter: "adapter with 8-bit moments",
    random: "stochastic rounding",
  };
  const form = forms[what] ?? "weights";
  await runSft(folder, onStep, { form, dtype, loaded, steps: numSteps ?? 6, ...rest });
}

const processGroup = await ProcessGroup.open({
  rank: Number(RANK),
  size: Number(WORLD_SIZE),
  address: MASTER_ADDR,
  port: Number(MASTER_PORT),
  patienceMs: 4000,
});
try {
  await train(processGroup);
  await processGroup.close();
} catch (error) {
  tell({ code: (error as { code?: string }).code, message: (error as Error).message });
  processGroup.fail(error);
  await processGroup.close();
  process.exitCode = 1;
}
