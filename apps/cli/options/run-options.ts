/** Options of every training: AdamW's settings, the memory of a backward pass, the run's folder. */
import { z } from "zod";
import type { LearnerOptions } from "../../../lib/train/learner/learner-options.ts";
import { zeroLevels } from "../../../lib/train/memory/plan.ts";
import { UsageError } from "../command.ts";
import { inGroup } from "../fields.ts";

/** AdamW's settings, each the given one or AdamW's own. */
export const adamWOptions = {
  weightDecay: z.number().min(0).optional().describe("AdamW's (0.01)."),
  beta1: z.number().min(0).lt(1).optional().describe("AdamW's first moment (0.9)."),
  beta2: z.number().min(0).lt(1).optional().describe("AdamW's second moment (0.999)."),
  maxGradNorm: z.number().min(0).optional().describe("Bound on the gradient's norm; 0 is none (1)."),
  moments: z
    .enum(["float32", "8-bit"])
    .optional()
    .describe('The two moments: 8 bytes a weight in float32, 2 in 8 bits ("float32").'),
  masterWeights: z
    .boolean()
    .optional()
    .describe("Whether bfloat16 weights keep 2 bytes below them; false rounds updates at random (true)."),
  stateFolder: z
    .string()
    .optional()
    .describe("Folder in which nameless files, mapped into memory, hold moments and masters (in memory)."),
};

/** What a backward pass may hold. */
export const activationOptions = inGroup("Model", {
  activationGib: z
    .number()
    .min(0)
    .optional()
    .describe(
      "GiB that a micro-batch may keep for its backward pass; beyond, activation checkpointing: layers are run twice (half of what is free).",
    ),
});

type SharingOptions = Pick<LearnerOptions, "zero" | "gradientShards" | "reduceDtype">;

/** Whether the processes of a job share one model. */
export const tensorParallelOption = {
  tensorParallel: z
    .int()
    .min(1)
    .default(1)
    .describe(
      "Processes that share one model, each a slice of every layer: 1, or all of the job, 2, 4 or 8; the first runs the command.",
    ),
};

/** What the processes of a job share out, and how they sum. */
export const sharingOptions = inGroup("Several processes", {
  ...tensorParallelOption,
  zero: z
    .literal(zeroLevels)
    .default(0)
    .describe("What processes share out (ZeRO): 1 moments and masters, 2 gradients too, 3 weights too."),
  gradientShards: z
    .int()
    .min(1)
    .optional()
    .describe(
      "Parts in which gradients are summed, a power of two: the same weights, bit for bit, for any number of processes that divides it (any order).",
    ),
  reduceDtype: z
    .enum(["float32", "bfloat16"])
    .default("float32")
    .describe("What gradients travel in between processes; bfloat16 is half the bytes, rounded to 8 bits."),
});

/** What a learner is told of it. */
export function sharingOf({ zero, gradientShards, reduceDtype }: SharingOptions): SharingOptions {
  return { zero, gradientShards, reduceDtype };
}

/**
 * Refuses what ranks that share one model cannot share out besides.
 *
 * @throws UsageError
 */
export function refuseSharing({
  tensorParallel,
  zero = 0,
  gradientShards,
  reduceDtype,
  rolloutRanks = 0,
}: SharingOptions & { readonly tensorParallel: number; readonly rolloutRanks?: number }): void {
  if (tensorParallel === 1) return;
  const given = { "--zero": zero > 0, "--gradient-shards": gradientShards !== undefined };
  const generating = { "--rollout-ranks": rolloutRanks > 0 };
  const flags = { ...given, "--reduce-dtype": reduceDtype !== "float32", ...generating };
  const [flag] = Object.entries(flags).find(([, isGiven]) => isGiven) ?? [];
  if (flag === undefined) return;
  const remedy = "Remedy: without it: each process has a slice of weights, gradients and moments already";
  throw new UsageError(`${flag}: expected without --tensor-parallel. ${remedy}`);
}

/** GiB as bytes. */
export function bytesOf(gib: number | undefined): number | undefined {
  return gib === undefined ? undefined : gib * 2 ** 30;
}

/** Where a training run is kept, and how. */
export const runOptions = inGroup("Run", {
  out: z.string().describe("Folder of the run: logs, checkpoints, the final model; a run in it goes on."),
  checkpointEvery: z
    .int()
    .min(0)
    .default(50)
    .describe("Steps between checkpoints; 0 writes the last one only."),
  keep: z
    .int()
    .min(1)
    .default(2)
    .describe("Newest checkpoints that stay, besides the one that evaluated best."),
  tensorboard: z.boolean().default(false).describe("Also keeps the metrics as a TensorBoard event file."),
  microBatchTokens: z.int().min(1).default(4096).describe("Tokens of one forward; bounds memory."),
  seed: z.int().min(0).default(0).describe("Fixes every order and draw."),
});
