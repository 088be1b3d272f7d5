/** Options that every command with a model shares. */
import { z } from "zod";
import { inGroup } from "../fields.ts";

/** Which model, where its weights live, in which form. */
export const modelOptions = inGroup("Model", {
  model: z.string().describe("Model folder: config.json, model.safetensors, tokenizer.json."),
  dtype: z.enum(["float32", "bfloat16"]).default("float32").describe("Form of the weights in memory."),
  device: z.string().default("cpu").describe("cpu, cuda or cuda:<index>."),
});

/** How much the engine may hold. */
export const engineOptions = inGroup("Model", {
  cacheGib: z
    .number()
    .gt(0)
    .default(1)
    .describe("GiB for keys and values of sequences under way; the rest wait."),
});

/** A list of token ids. */
export const idsOption = z.array(z.int().min(0)).min(1);

/** How tokens are drawn. */
export const samplingOptions = inGroup("Sampling", {
  temperature: z.number().min(0).default(1).describe("Divides the logits; 0 takes the likeliest token."),
  topP: z.number().gt(0).max(1).default(1).describe("Draws among the likeliest tokens of this share."),
  topK: z.int().min(0).default(0).describe("Draws among this many likeliest tokens; 0 means all."),
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
