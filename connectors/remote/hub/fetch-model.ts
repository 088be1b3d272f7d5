/** Models of the hub by their names, fetched once into the cache that Python shares. */
import { checkOptions, type OptionKinds, shownValue } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { type FetchedModel, type FetchModelOptions, fetchPlace } from "./fetch-place.ts";
import { hubModel } from "./hub-place.ts";

const fetchKinds: OptionKinds<FetchModelOptions> = {
  endpoint: "string",
  token: "string",
  cache: "string",
  offline: "boolean",
  onBytes: "function",
  onWait: "function",
  signal: "signal",
};

/**
 * Fetches a model of the Hugging Face hub, or what is missing of it. Only configuration, tokenizer and weights in safetensors
 * are fetched, unless one file is named. Each file has the checksum that the hub names before it counts as there.
 *
 * @param name - `OWNER/NAME`, `OWNER/NAME@REVISION`, or `hf://OWNER/NAME@REVISION/FILE`
 * @param options - the hub, the cache, whether to ask at all
 * @returns where it is, and its commit
 * @throws ERR_REMOTE when it cannot be had; ERR_IO when there is no room, or offline nothing there; ERR_ARGUMENT for a name
 *   that is none, or of a repository without a model; ERR_ABORTED
 * @example
 * const fetched = fetchModel("Qwen/Qwen2.5-0.5B-Instruct", { offline: true, cache: "empty" });
 * await assert.rejects(fetched, { code: "ERR_IO" });
 */
export async function fetchModel(name: string, options: FetchModelOptions = {}): Promise<FetchedModel> {
  checkOptions("fetchModel", options, fetchKinds);
  const model = hubModel(name);
  if (model === undefined)
    throw new SeekError(
      "ERR_ARGUMENT",
      `fetchModel: expected OWNER/NAME[@REVISION], got ${shownValue(name)}`,
    );
  return fetchPlace(model, options);
}
