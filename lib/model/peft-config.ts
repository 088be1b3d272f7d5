/** `adapter_config.json`, as Hugging Face's peft writes it for LoRA (peft/tuners/lora/config.py). */
import { join } from "node:path";
import { shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { lazySchema } from "../base/on-first-use.ts";
import { parsed } from "../base/parsed.ts";
import type { TargetRules } from "./form/target-modules.ts";
import { readJson } from "./model-folder.ts";

/** The name of an adapter folder's configuration. */
export const adapterConfigFile = "adapter_config.json";
/** The name of its tensors. */
export const adapterFile = "adapter_model.safetensors";

/** `peft_type` of an adapter whose projections are no modules of transformers' model: peft refuses the folder by it. */
const ownType = "SEEKRL_LORA";

/** What a configuration says of the adapter. */
export interface PeftConfig {
  readonly rank: number;
  readonly alpha: number;
  readonly rankStabilised: boolean;
  /** Of training alone. */
  readonly dropout: number;
  /** Folder or name of the model that it belongs to. */
  readonly base: string | undefined;
  /** The commit or branch of a model of the hub. */
  readonly revision?: string | undefined;
}

/** A bound that no adapter comes near, so that a broken file is refused by name. */
const maxAlpha = 1e9;

const listOf = <Value>(value: Value | readonly Value[] | null | undefined): readonly Value[] =>
  value == null ? [] : Array.isArray(value) ? value : [value as Value];

/** Ways to begin that take from the base model's weights what they put into A and B (peft/tuners/lora/layer.py). */
const changesBase = /^(pissa|olora|corda|loftq|lora_ga)/i;
const changedBase = (method: unknown): string =>
  `${method} changed the base model's weights, so that the adapter does not fit those of its folder. Remedy: an adapter saved with peft's path_initial_model_for_weight_conversion`;

const names = lazySchema((z) => z.union([z.string().min(1), z.array(z.string()).min(1)]));
const shape = lazySchema((z) =>
  z.looseObject({
    peft_type: z.enum(["LORA", ownType]),
    task_type: z.enum(["CAUSAL_LM"]).nullish(),
    r: z.int().min(1),
    lora_alpha: z.number().positive().max(maxAlpha),
    lora_dropout: z.number().min(0).max(1).default(0),
    target_modules: names(),
    exclude_modules: z.union([z.string(), z.array(z.string())]).nullish(),
    layers_to_transform: z.union([z.int().min(0), z.array(z.int().min(0))]).nullish(),
    layers_pattern: z.union([z.string(), z.array(z.string())]).nullish(),
    bias: z.literal("none").default("none"),
    use_rslora: z.boolean().default(false),
    init_lora_weights: z
      .literal([true, false, "gaussian", "orthogonal", "eva"], {
        error: ({ input }) => (changesBase.test(String(input)) ? changedBase(input) : undefined),
      })
      .nullish(),
    base_model_name_or_path: z.string().nullish(),
    revision: z.string().nullish(),
  }),
);

/** Keys that say nothing of what the adapter computes. */
const harmless = new Set([
  ...["auto_mapping", "inference_mode", "peft_version", "runtime_config"],
  // Of features that other keys turn on.
  ...["megatron_core", "qalora_group_size"],
  // How A was chosen before training.
  "eva_config",
]);

function isOff(value: unknown): boolean {
  return value == null || value === false || (typeof value === "object" && Object.keys(value).length === 0);
}

/**
 * Reads an adapter folder's configuration.
 *
 * @param folder - holds adapter_config.json
 * @returns what it says
 * @throws ERR_IO when it cannot be read; ERR_FORMAT naming what is not supported, such as DoRA or a rank of its own for
 *   some layers
 */
export async function readPeftConfig(folder: string): Promise<PeftConfig & { readonly rules: TargetRules }> {
  const path = join(folder, adapterConfigFile);
  const json = parsed(shape(), await readJson(path), path);
  for (const [key, value] of Object.entries(json)) {
    if (Object.hasOwn(shape().shape, key) || harmless.has(key) || isOff(value)) continue;
    const problem = `is not supported; expected false or none, got ${shownValue(value)}`;
    throw new SeekError("ERR_FORMAT", `${path}: ${key}: ${problem}`);
  }
  return {
    rank: json.r,
    alpha: json.lora_alpha,
    rules: {
      targets: json.target_modules,
      excluded: json.exclude_modules ?? [],
      layers: listOf(json.layers_to_transform),
      layersPatterns: listOf(json.layers_pattern).filter((pattern) => pattern !== ""),
    },
    rankStabilised: json.use_rslora,
    dropout: json.lora_dropout,
    base: json.base_model_name_or_path ?? undefined,
    revision: json.revision ?? undefined,
  };
}

/**
 * The text of an adapter folder's configuration, with the keys that peft writes.
 *
 * @param config what it says, and the projections that it is put on
 * @param options whether peft finds all of these in its model, see {@link areModules}
 */
export function peftConfigText(
  {
    rank,
    alpha,
    targets,
    rankStabilised,
    base,
    revision,
  }: PeftConfig & { readonly targets: readonly string[] },
  { isForPeft }: { readonly isForPeft: boolean },
): string {
  const config = {
    alpha_pattern: {},
    auto_mapping: null,
    base_model_name_or_path: base ?? null,
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    layers_pattern: null,
    layers_to_transform: null,
    lora_alpha: alpha,
    lora_dropout: 0,
    modules_to_save: null,
    peft_type: isForPeft ? "LORA" : ownType,
    r: rank,
    rank_pattern: {},
    revision: revision ?? null,
    target_modules: targets,
    task_type: "CAUSAL_LM",
    use_dora: false,
    use_rslora: rankStabilised,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
