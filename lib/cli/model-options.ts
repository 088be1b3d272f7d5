/** Options that every command with a model shares. */
import { z } from "zod";

/** Which model, where its weights live, in which form. */
export const modelOptions = {
  model: z.string().describe("model folder (config.json, model.safetensors, tokenizer.json)"),
  dtype: z.enum(["float32", "bfloat16"]).default("float32").describe("form of the weights in memory"),
  device: z.string().default("cpu").describe("cpu, cuda or cuda:<index>"),
};

/** A list of token ids. */
export const idsOption = z.array(z.int().min(0)).min(1);

/** How tokens are drawn. */
export const samplingOptions = {
  temperature: z.number().min(0).default(1).describe("divides the logits; 0 takes the likeliest token"),
  topP: z.number().gt(0).max(1).default(1).describe("draws among the likeliest tokens of this share"),
  topK: z.int().min(0).default(0).describe("draws among this many likeliest tokens; 0 means all"),
};
