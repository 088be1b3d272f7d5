/** How a model's makers draw from it: the sampling that stands in its generation_config.json. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { checkOptions } from "../../../lib/base/check-options.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { type SamplingOptions, samplingKinds } from "../../../lib/engine/sampling-options.ts";
import { readJson } from "../../../lib/text/tokenizers/special-ids.ts";

/** The keys that are read, as transformers writes them; the file has many more, for programs of other kinds. */
const schema = lazySchema((z) =>
  z.looseObject({
    temperature: z.number().nullish(),
    top_k: z.int().nullish(),
    top_p: z.number().nullish(),
    min_p: z.number().nullish(),
    repetition_penalty: z.number().nullish(),
  }),
);

/**
 * Reads it, as vLLM does.
 *
 * @param folder - of a model; a GGUF file has none
 * @returns what the file says; nothing where it says nothing or is not there
 * @throws ERR_FORMAT for a file that is malformed; ERR_RANGE for numbers that nothing can be drawn with
 */
export async function readGenerationSampling(folder: string): Promise<SamplingOptions> {
  if ((await stat(folder)).isFile()) return {};
  const path = join(folder, "generation_config.json");
  const said = (await readJson(path, schema())) ?? {};
  const { top_k, top_p, min_p, repetition_penalty } = said;
  const options = {
    temperature: said.temperature,
    topK: top_k == null ? top_k : Math.max(0, top_k),
    topP: top_p,
    minP: min_p,
    repetitionPenalty: repetition_penalty,
  };
  const sampling = Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));
  checkOptions(path, sampling, samplingKinds);
  return sampling;
}
