/** Options of LoRA: whether an adapter is trained in place of the weights, and of what size. */
import { z } from "zod";
import { defined } from "../../../lib/base/defined.ts";
import type { LoraOptions } from "../../../lib/model/form/lora-options.ts";
import { inGroup } from "../fields.ts";

const lora = z.strictObject({
  rank: z.int().min(0).default(16).describe("Width of the adapter; 0 trains the weights themselves."),
  alpha: z.number().gt(0).optional().describe("What it adds counts alpha / rank (2 * rank)."),
  targets: z.array(z.string()).min(1).default(["all-linear"]).describe("Projections that it is put on."),
  rankStabilised: z.boolean().optional().describe("What it adds counts alpha / sqrt(rank)."),
});

/** What the options say. */
type LoraChoice = z.output<typeof lora>;

/** An option of every command that trains. */
export const loraOptions = inGroup("Training; what is not given is the recipe's", {
  lora: lora.optional().meta({
    head: "rank",
    description: "Trains a LoRA adapter of this rank, and leaves the weights as they are.",
  }),
});

/** Why two ways to an adapter are refused. */
export const oneAdapter = "--lora: expected without --adapter, which is trained further";

/** The same without a recipe. */
export const loraOption = loraOptions.lora;

/** An adapter's options; undefined where the weights themselves are trained. */
export function loraOf(choice: LoraChoice | undefined): LoraOptions | undefined {
  if (choice === undefined || choice.rank === 0) return undefined;
  const { rank, alpha, targets, rankStabilised } = choice;
  return defined({
    ...{ rank, alpha, rankStabilised },
    targets: targets.length === 1 && targets[0] === "all-linear" ? "all-linear" : targets,
  });
}

/** An adapter's options in the words of the command line. */
export function loraChoiceOf({
  rank = 16,
  alpha,
  targets = "all-linear",
  rankStabilised,
}: LoraOptions): LoraChoice {
  return { rank, alpha, rankStabilised, targets: typeof targets === "string" ? [targets] : [...targets] };
}
