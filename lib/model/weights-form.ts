/** Quantised weights, as a model folder's config.json says them. */
import { SeekError } from "../base/errors.ts";
import { lazySchema } from "../base/on-first-use.ts";
import { parsed } from "../base/parsed.ts";

/** The forms of {@link QuantisedWeights}, in order of size. */
export const quantisedForms = ["int8", "int4", "nf4"] as const;

/**
 * How a model's projections are kept in memory: int8 has one scale an output; int4 one scale for 32 values; nf4 QLoRA's
 * levels and an absmax in 8 bits for 64 values.
 */
export type QuantisedWeights = (typeof quantisedForms)[number];

/** What may be asked for: a form, or none. */
export const weightsForms = [...quantisedForms, "plain"] as const;

const quantization = lazySchema((z) =>
  z.strictObject({ quant_method: z.literal("seekrl"), weights: z.enum(quantisedForms) }),
);

/** A config.json without what says how its weights are kept, and what that is. */
interface SplitConfig {
  readonly json: unknown;
  /** Missing where weights are plain. */
  readonly weights?: QuantisedWeights | undefined;
}

/**
 * Takes SeekRL's own `quantization_config` off a config.json; that of another program stays, and is refused with it.
 *
 * @param json the parsed file
 * @param from named in error messages
 * @returns the rest of the file, and how its weights are kept
 * @throws ERR_FORMAT when `quant_method` is "seekrl" and the rest is not what `seekrl quantize` writes
 * @example
 * splitConfig({ quantization_config: { quant_method: "seekrl", weights: "int8" } }, "config.json").weights; // "int8"
 */
export function splitConfig(json: unknown, from: string): SplitConfig {
  if (typeof json !== "object" || json === null) return { json };
  const { quantization_config: found, ...rest } = json as {
    quantization_config?: { quant_method?: unknown };
  };
  if (found?.quant_method !== "seekrl") return { json };
  return { json: rest, weights: parsed(quantization(), found, `${from}: quantization_config`).weights };
}

/**
 * The form to load: the folder's own, or the one asked for; undefined where weights are plain.
 *
 * @throws ERR_ARGUMENT when a quantised folder is asked for in another form, or plain
 */
export function chosenForm(
  stored: QuantisedWeights | undefined,
  asked: (typeof weightsForms)[number] | undefined,
  folder: string,
): QuantisedWeights | undefined {
  if (asked === undefined || stored === asked) return stored;
  if (stored === undefined) return asked === "plain" ? undefined : asked;
  throw new SeekError(
    "ERR_ARGUMENT",
    `Model.load: weights: ${folder} holds ${stored}, not ${asked}; take the original folder`,
  );
}
