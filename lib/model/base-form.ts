/** In which form a model was while an adapter on it was trained, noted in the file of the adapter's tensors. */
import { join } from "node:path";
import { defined } from "../base/defined.ts";
import { isSigned, signIfPossible } from "../base/files/signature.ts";
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
    base_signature: z.string().optional(),
  }),
);

/** Another form of the same model computes something else than was trained. */
export interface BaseForm {
  readonly dtype?: Model["dtype"] | undefined;
  readonly weights?: (typeof weightsForms)[number] | undefined;
}

const signedName = (base: string): string => JSON.stringify(["seekrl adapter", base]);

/** A model's form, and that it was this user who named its folder, as the note's texts. */
export async function baseNote({
  dtype,
  weights,
  folder,
}: Pick<Model, "dtype" | "weights" | "folder">): Promise<Record<string, string>> {
  const signature = folder === undefined ? undefined : await signIfPossible(signedName(folder));
  return { base_dtype: dtype, base_weights: weights ?? "plain", ...defined({ base_signature: signature }) };
}

async function readNote(folder: string) {
  const path = join(folder, adapterFile);
  return parsed(note(), await readSafetensorsMetadata(path), `${path}: __metadata__`);
}

/** Whether an adapter's folder names its model as a command of this user wrote it. @throws as {@link readBaseForm} */
export async function isOwnBase(folder: string, base: string): Promise<boolean> {
  const { base_signature: signature } = await readNote(folder);
  return signature !== undefined && isSigned(signedName(base), signature);
}

/**
 * Reads the note of an adapter.
 *
 * @param folder - of an adapter
 * @returns what it says; of another program's adapter nothing
 * @throws ERR_IO when the file cannot be read; ERR_FORMAT when it is malformed
 */
export async function readBaseForm(folder: string): Promise<BaseForm> {
  const said = await readNote(folder);
  return { dtype: said.base_dtype, weights: said.base_weights };
}
