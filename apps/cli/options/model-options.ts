/** Options that every command with a model shares. */
import { z } from "zod";
import { quantisedForms } from "../../../lib/model/weights-form.ts";
import { inGroup } from "../fields.ts";

/** Which model, where its weights live, in which form. */
export const modelOptions = inGroup("Model", {
  model: z
    .string()
    .describe(
      "Model folder: config.json, model.safetensors, tokenizer.json; or a GGUF file; or an adapter's folder, which names its model.",
    ),
  adapter: z.string().optional().describe("Folder of a LoRA adapter on the model, as peft writes it."),
  dtype: z.enum(["float32", "bfloat16"]).default("float32").describe("Form of the weights in memory."),
  weights: z
    .enum(quantisedForms)
    .optional()
    .describe("Keeps projections and head in fewer bits, frozen; unless given, as the folder holds them."),
  device: z.string().default("cpu").describe("cpu, cuda or cuda:<index>."),
  contextTokens: z
    .int()
    .positive()
    .optional()
    .describe("Longest sequence that is run, which stretches dynamic, longrope and yarn positions."),
});

/** How much the engine may hold. */
export const engineOptions = inGroup("Model", {
  cacheGib: z
    .number()
    .gt(0)
    .default(1)
    .describe("GiB for keys and values of sequences under way; the rest wait."),
});

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

/** GiB as bytes. */
export function bytesOf(gib: number | undefined): number | undefined {
  return gib === undefined ? undefined : gib * 2 ** 30;
}

/** A list of token ids. */
export const idsOption = z.array(z.int().min(0)).min(1);

const penalty = z.number().min(-2).max(2).default(0);

/** How tokens are drawn. */
export const samplingOptions = inGroup("Sampling", {
  temperature: z.number().min(0).default(1).describe("Divides the logits; 0 takes the likeliest token."),
  topP: z.number().gt(0).max(1).default(1).describe("Draws among the likeliest tokens of this share."),
  topK: z.int().min(0).default(0).describe("Draws among this many likeliest tokens; 0 means all."),
  minP: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Draws among tokens this share as likely as the likeliest."),
  repetitionPenalty: z
    .number()
    .min(0.01)
    .max(100)
    .default(1)
    .describe("Above 1 makes the tokens of prompt and text less likely."),
  presencePenalty: penalty.describe("Taken from the logit of a token that the text has."),
  frequencyPenalty: penalty.describe("Taken from a token's logit as often as the text has it."),
  logitBias: z
    .array(z.string().regex(/^\d+=-?(\d+(\.\d+)?|Infinity)$/, "expected <id>=<number>"))
    .default([])
    .describe("<id>=<number>: added to a token's logit; -Infinity forbids it."),
  badWords: z.array(z.string().min(1)).default([]).describe("Words that are not written."),
});

/** What a text is held to. */
export const constraintOptions = inGroup("Sampling", {
  jsonSchema: z.string().optional().describe("A file with a JSON schema that the text is held to."),
  regex: z.string().optional().describe("An expression that the whole text is held to."),
  grammar: z.string().optional().describe("A file with a grammar (GBNF) that the text is held to."),
});

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
