/** In which form a model was while an adapter on it was trained, noted in the file of the adapter's tensors. */
import { join } from "node:path";
import { lazySchema } from "../base/on-first-use.ts";
import { parsed } from "../base/parsed.ts";
import type { Model } from "./model.ts";
import { adapterFile } from "./peft-config.ts";
import { readSafetensorsMetadata } from "./safetensors.ts";
import { weightsForms } from "./weights-form.ts";

const note = lazySchema((z) =>
  z.object({
    base_dtype: z.enum(["float32", "bfloat16"]).optional(),
    base_weights: z.enum(weightsForms).optional(),
  }),
);

/** Another form of the same model computes something else than was trained. */
export interface BaseForm {
  readonly dtype?: Model["dtype"] | undefined;
  readonly weights?: (typeof weightsForms)[number] | undefined;
}

/** A model's form as the note's texts. */
export function baseFormNote({ dtype, weights }: Pick<Model, "dtype" | "weights">): Record<string, string> {
  return { base_dtype: dtype, base_weights: weights ?? "plain" };
}

/**
 * Reads the note of an adapter.
 *
 * @param folder - of an adapter
 * @returns what it says; of another program's adapter nothing
 * @throws ERR_IO when the file cannot be read; ERR_FORMAT when it is malformed
 */
export async function readBaseForm(folder: string): Promise<BaseForm> {
  const path = join(folder, adapterFile);
  const said = parsed(note(), await readSafetensorsMetadata(path), `${path}: __metadata__`);
  return { dtype: said.base_dtype, weights: said.base_weights };
}
