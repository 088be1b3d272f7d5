/** Which model a command opens: its folder, the form of its weights, the memory of its engine. */
import { z } from "zod";
import { weightsForms } from "../../../lib/model/weights-form.ts";
import { inGroup } from "../fields.ts";
import { deviceName } from "../machine/device.ts";

/** Which model, where its weights live, in which form. */
export const modelOptions = inGroup("Model", {
  model: z
    .string()
    .describe(
      "Model folder: config.json, model.safetensors, tokenizer.json; or a GGUF file; or an adapter's folder, which names its model.",
    ),
  adapter: z.string().optional().describe("Folder of a LoRA adapter on the model, as peft writes it."),
  dtype: z
    .enum(["float32", "bfloat16"])
    .optional()
    .describe(
      "Form of the weights in memory (float32, on a card bfloat16; under an adapter as it was trained).",
    ),
  weights: z
    .enum(weightsForms)
    .optional()
    .describe(
      "Quantises projections and head, which are frozen then (as the folder holds them; under an adapter as it was trained).",
    ),
  device: deviceName.default("cpu").describe("cpu or cuda."),
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
    .optional()
    .describe(
      "GiB for keys and values of sequences under way; the rest wait. 1 on the CPU, what is free on a card when left out.",
    ),
});

/** A list of token ids. */
export const idsOption = z.array(z.int().min(0)).min(1);
