/** Options of `seekrl plan`: the model, the machines, the work of a step, and how it is laid out. */
import { z } from "zod";
import { quantisedForms } from "../../../../lib/model/weights-form.ts";
import { zeroLevels } from "../../../../lib/train/memory/plan.ts";
import { gpuNames } from "../../../plan/machine.ts";
import { mostDevices } from "../../../plan/planned.ts";
import { UsageError } from "../../command.ts";
import { inGroup } from "../../fields.ts";
import { loraOptions } from "../../options/lora-options.ts";
import { recipeOptions } from "../../options/recipe-options.ts";

const modelPart = inGroup("Model", {
  model: z
    .string()
    .describe(
      "A published size such as qwen2.5-7b, a model of the hub (OWNER/NAME[@REVISION]), a model folder, or its config.json alone; weights are not read.",
    ),
  weights: z.enum(quantisedForms).optional().describe("Form of frozen weights under an adapter (bfloat16)."),
  ...loraOptions,
});

const machines = inGroup("Machines", {
  gpus: z
    .array(z.int().min(1).max(mostDevices))
    .min(1)
    .refine((all) => new Set(all).size === all.length, "expected each number once")
    .describe(`How many, up to ${mostDevices}; several numbers are compared: 8,64,512.`),
  gpusPerMachine: z.int().min(1).default(8).describe("GPUs of one machine."),
  gpu: z
    .enum(gpuNames as [string, ...string[]])
    .default("h200")
    .describe("Which GPU."),
  networkGbits: z
    .number()
    .gt(0)
    .default(400)
    .describe("Between machines, each GPU's share, Gbit/s in one direction."),
});

const layout = inGroup("Layout; what is not given is tried", {
  zero: z
    .literal(zeroLevels)
    .optional()
    .describe("ZeRO's level: optimiser states, gradients, weights are shared out."),
  tensor: z
    .int()
    .min(1)
    .refine((ways) => Number.isInteger(Math.log2(ways)), "expected a power of two")
    .optional()
    .describe("GPUs of one machine that share each product; a power of two."),
  rolloutGpus: z.int().min(0).optional().describe("GPUs that only generate."),
  staleness: z
    .int()
    .min(0)
    .default(0)
    .describe("Steps that weights of rollouts may be behind; 0: rollouts wait for updates."),
  overlap: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe("Share of a pass under which its collectives hide, from ZeRO 2 on."),
  moments: z.enum(["float32", "8-bit"]).default("float32").describe("AdamW's moments."),
  masterWeights: z
    .boolean()
    .default(true)
    .describe("Leaves out the 2 bytes that each bfloat16 weight keeps below it."),
  microBatchTokens: z.int().min(1).default(16_384).describe("Tokens of one forward."),
  checkpointEvery: z.int().min(0).default(50).describe("Steps between checkpoints; 0 writes none."),
});

const work = inGroup("A step", {
  ...recipeOptions,
  sft: z.boolean().default(false).describe("Texts are given, as in seekrl sft, and not generated."),
  batchQuestions: z
    .int()
    .min(1)
    .optional()
    .describe("Questions of one step (the recipe's; 256 texts of SFT)."),
  samples: z.int().min(1).optional().describe("Rollouts of each question (the recipe's)."),
  promptTokens: z.int().min(1).default(350).describe("Of a question with its instructions."),
  searches: z.int().min(0).default(2).describe("Searches before an answer."),
  responseTokens: z.int().min(1).default(90).describe("Of one turn of the model's."),
  observationTokens: z.int().min(0).default(500).describe("Of what a search finds."),
  searchMs: z.number().min(0).default(100).describe("Of one search."),
  spread: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe("How far turns go from their mean length, as a share of it."),
});

/** The schema. */
export const planOptions = z.strictObject({ ...modelPart, ...machines, ...layout, ...work });

/** What the options say. */
export type PlanOptions = z.output<typeof planOptions>;

/** Refuses options that do not go together. @throws UsageError */
export function checkPlan({
  sft,
  staleness,
  rolloutGpus = 0,
  tensor = 1,
  gpus,
  gpusPerMachine,
}: PlanOptions) {
  for (const [name, value] of Object.entries({ staleness, "rollout-gpus": rolloutGpus })) {
    if (sft && value > 0)
      throw new UsageError(`--${name}: expected 0 with --sft, which generates nothing, got ${value}`);
  }
  for (const devices of gpus) {
    if (rolloutGpus >= devices)
      throw new UsageError(
        `--rollout-gpus: expected fewer than the ${devices} of --gpus, got ${rolloutGpus}`,
      );
    const near = Math.min(devices, gpusPerMachine);
    if (near % tensor === 0 && devices % tensor === 0) continue;
    const gpus = `the ${devices} GPUs of --gpus and the ${near} of a machine (--gpus-per-machine)`;
    throw new UsageError(`--tensor: expected a number that divides ${gpus}, got ${tensor}`);
  }
}
