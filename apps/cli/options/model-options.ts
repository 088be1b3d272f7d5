/** Which model a command opens: its folder, the form of its weights, the memory of its engine. */

import { z } from "zod";
import { folderName } from "../../../lib/base/files/hub-cache.ts";
import { weightsForms } from "../../../lib/model/weights-form.ts";
import { UsageError } from "../command.ts";
import { deviceName, inGroup, modelFolder } from "../fields.ts";

/** Which model, where its weights live, in which form. */
export const modelOptions = inGroup("Model", {
  model: modelFolder(
    z
      .string()
      .describe(
        "Model folder: config.json, model.safetensors, tokenizer.json; or a GGUF file; or an adapter's folder, which names its model; or a model of the Hugging Face hub, OWNER/NAME[@REVISION].",
      ),
  ),
  adapter: modelFolder(
    z.string().optional().describe("Folder of a LoRA adapter on the model, as peft writes it."),
  ),
  dtype: z
    .enum(["float32", "bfloat16"])
    .optional()
    .describe(
      "Form of the weights in memory (float32, on a GPU bfloat16; under an adapter as it was trained).",
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
      "GiB for keys and values of sequences under way; the rest wait. 1 on the CPU, what is free on a GPU when left out.",
    ),
});

/** How adapters are named where there may be several. */
export const adapterForm = "NAME=DIR or DIR alone, by whose last part it is named then";

/** An adapter by the name that it has in a command. */
export interface NamedFolder {
  readonly name: string;
  readonly folder: string;
}

/**
 * Adapters as they were named: the form has a `NAME` of letters, digits and `._:@-`; any other text is a folder.
 *
 * @throws UsageError for a name that stands twice
 */
export function namedFolders(given: readonly string[]): NamedFolder[] {
  const named = given.map((text): NamedFolder => {
    const [, name, folder] = /^([\w.:@-]+)=(.+)$/s.exec(text) ?? [];
    return { name: name ?? folderName(text), folder: folder ?? text };
  });
  const twice = named.find(({ name }, i) => named.findIndex((each) => each.name === name) !== i);
  if (twice === undefined) return named;
  throw new UsageError(
    `--adapter: expected another name for each, got ${twice.name} twice: NAME=DIR names one`,
  );
}

/** A list of token ids. */
export const idsOption = z.array(z.int().min(0)).min(1);
