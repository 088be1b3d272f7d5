/** What a model will be in memory, as its folder says it: no weight is read. */
import type { NativeStoredTensor } from "../../base/addon/models.ts";
import type { DecoderConfig } from "../config/config.ts";
import { withContext } from "../config/context.ts";
import { parseConfig } from "../config/parse-config.ts";
import { readModel } from "../model-folder.ts";
import { chosenForm, type QuantisedWeights, splitConfig, type weightsForms } from "../weights-form.ts";

/** What may be asked for. */
interface AskedForm {
  readonly device?: string | undefined;
  readonly dtype?: "float32" | "bfloat16" | undefined;
  readonly weights?: (typeof weightsForms)[number] | undefined;
  readonly contextTokens?: number | undefined;
}

/** Shape and form of a model, and where its tensors stand. */
export interface ModelForm {
  readonly config: DecoderConfig;
  readonly dtype: "float32" | "bfloat16";
  readonly device: string;
  readonly weights: QuantisedWeights | undefined;
  /** config.json as it was read, without SeekRL's own part. */
  readonly json: unknown;
  readonly stored: readonly NativeStoredTensor[];
}

/** The numbers of a model that nobody asked for others of. */
export const usualDtype = (device: string): "float32" | "bfloat16" =>
  device === "cpu" ? "float32" : "bfloat16";

/**
 * Reads what a model folder, or a GGUF file, says of itself: its configuration and the headers of its weights.
 *
 * @param folder - of the model
 * @param asked - dtype, form of the weights, device, longest sequence
 * @returns its shape and form
 * @throws ERR_IO when a file cannot be read; ERR_FORMAT when one is malformed; ERR_ARGUMENT for another form than the folder's
 */
export async function readForm(folder: string, asked: AskedForm): Promise<ModelForm> {
  const { device = "cpu", dtype = usualDtype(device) } = asked;
  const { path, json: file, stored } = await readModel(folder);
  const { json, weights: own } = splitConfig(file, path);
  const weights = chosenForm(own, asked.weights, folder);
  const config = withContext(parseConfig(json, path), asked.contextTokens);
  return { config, dtype, device, weights, json, stored };
}
