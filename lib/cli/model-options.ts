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
