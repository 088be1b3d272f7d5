/** A decoder's shape, read from and written to Hugging Face's config.json. */
import type { z } from "zod";
import { checkOptions, countKind, numberIn, type OptionKinds } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { lazySchema, zod } from "../base/on-first-use.ts";
import { parsed } from "../base/parsed.ts";
import { checkKeys } from "./config-keys.ts";
import { type RopeScaling, readRope, ropeKeys, ropeScalingFile } from "./rope.ts";

/** The architectures of config.json that SeekRL runs. */
export type Architecture = "LlamaForCausalLM" | "Qwen2ForCausalLM" | "Qwen3ForCausalLM";

/** The shape of a decoder-only transformer. */
export interface DecoderConfig {
  readonly architecture: Architecture;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  /** Key and value heads; divides `numHeads`. */
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly rmsNormEps: number;
  readonly ropeTheta: number;
  readonly ropeScaling: RopeScaling;
  /** Longest context, in tokens, the model was made for. */
  readonly maxPosition: number;
  /** Bias on the query, key and value projections (Qwen2). */
  readonly qkvBias: boolean;
  /** RMS norm over each head of queries and keys (Qwen3). */
  readonly qkNorm: boolean;
  /** Bias on the query, key, value and output projections. */
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
  /** The output head is the embedding. */
  readonly tieEmbeddings: boolean;
}

/** What {@link decoderConfig} needs; everything else has the architecture's usual value. */
export type DecoderShape = Pick<
  DecoderConfig,
  "vocabSize" | "hiddenSize" | "intermediateSize" | "numLayers" | "numHeads"
> &
  Partial<DecoderConfig>;

const shapeKinds: OptionKinds<DecoderShape> = {
  architecture: ["LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"],
  ...{ vocabSize: countKind, hiddenSize: countKind, intermediateSize: countKind, numLayers: countKind },
  ...{ numHeads: countKind, numKvHeads: countKind, headDim: countKind, maxPosition: countKind },
  ...{ rmsNormEps: numberIn({ above: 0 }), ropeTheta: numberIn({ above: 0 }), ropeScaling: "object" },
  ...{ qkvBias: "boolean", qkNorm: "boolean", attentionBias: "boolean", mlpBias: "boolean" },
  tieEmbeddings: "boolean",
};

const shapeRequired = ["vocabSize", "hiddenSize", "intermediateSize", "numLayers", "numHeads"];

/**
 * Fills in what a new model's shape leaves out.
 *
 * @param shape the sizes; `architecture` is Qwen2's by default, `numKvHeads` all heads, `headDim` `hiddenSize / numHeads`
 * @returns the whole configuration
 * @throws ERR_ARGUMENT for an unknown key or a missing size; ERR_RANGE for a size that is none
 * @example
 * decoderConfig({ vocabSize: 512, hiddenSize: 64, intermediateSize: 128, numLayers: 2, numHeads: 4 }).headDim; // 16
 */
export function decoderConfig(shape: DecoderShape): DecoderConfig {
  checkOptions("Model.create: shape", shape, shapeKinds, shapeRequired);
  const architecture = shape.architecture ?? "Qwen2ForCausalLM";
  return {
    architecture,
    numKvHeads: shape.numHeads,
    headDim: Math.floor(shape.hiddenSize / shape.numHeads),
    rmsNormEps: 1e-6,
    ropeTheta: 10_000,
    ropeScaling: { kind: "none" },
    maxPosition: 32_768,
    qkvBias: architecture === "Qwen2ForCausalLM",
    qkNorm: architecture === "Qwen3ForCausalLM",
    attentionBias: false,
    mlpBias: false,
    tieEmbeddings: true,
    ...shape,
  };
}

/** Bounds that no model comes near, so that a broken file is refused before anything is allocated for it. */
const upTo = (most: number) => zod().number().int().positive().max(most);

/** Sizes that decoders and encoders have alike. */
export const sizeKeys = () => ({
  vocab_size: upTo(2 ** 26),
  hidden_size: upTo(2 ** 20),
  intermediate_size: upTo(2 ** 22),
  num_hidden_layers: upTo(4096),
  num_attention_heads: upTo(2 ** 16),
  max_position_embeddings: upTo(2 ** 31 - 1),
});
const flag = lazySchema((z) => z.boolean().nullish());

/** The part of config.json that decides what the model computes. */
const configFile = lazySchema((z) =>
  z.object({
    ...ropeKeys(),
    architectures: z.array(z.string()),
    model_type: z.string().nullish(),
    ...sizeKeys(),
    num_key_value_heads: upTo(2 ** 16).nullish(),
    head_dim: upTo(2 ** 16).nullish(),
    rms_norm_eps: z.number().positive(),
    hidden_act: z.literal("silu").nullish(),
    tie_word_embeddings: flag(),
    attention_bias: flag(),
    mlp_bias: flag(),
    is_causal: flag(),
    use_sliding_window: flag(),
    layer_types: z.array(z.literal("full_attention")).nullish(),
    attention_dropout: z.literal(0).nullish(),
    quantization_config: z.unknown().optional(),
  }),
);

type ConfigFile = z.infer<ReturnType<typeof configFile>>;

const defaultHeadDim: Record<Architecture, number | undefined> = {
  LlamaForCausalLM: undefined,
  Qwen2ForCausalLM: undefined,
  Qwen3ForCausalLM: 128,
};

const modelTypes: Record<Architecture, string> = {
  LlamaForCausalLM: "llama",
  Qwen2ForCausalLM: "qwen2",
  Qwen3ForCausalLM: "qwen3",
};

function isArchitecture(name: string): name is Architecture {
  return Object.hasOwn(defaultHeadDim, name);
}

function expectFormat(holds: boolean, from: string, message: string): asserts holds {
  if (!holds) throw new SeekError("ERR_FORMAT", `${from}: ${message}`);
}

/** Options that change the computation and that no kernel of ours knows. */
function refuseUnsupported(file: ConfigFile, from: string): void {
  const { use_sliding_window, is_causal, quantization_config, layer_types, num_hidden_layers } = file;
  expectFormat(use_sliding_window !== true, from, "use_sliding_window: sliding windows are not supported");
  expectFormat(
    is_causal !== false,
    from,
    "is_causal: attention to later tokens is not supported in decoders",
  );
  expectFormat(quantization_config == null, from, "quantization_config: quantised weights are not supported");
  const numTypes = layer_types?.length ?? num_hidden_layers;
  expectFormat(
    numTypes === num_hidden_layers,
    from,
    `layer_types: expected num_hidden_layers (${num_hidden_layers}) entries, got ${numTypes}`,
  );
}

/** transformers builds what `model_type` says, whatever `architectures` says. */
function architectureOf({ architectures, model_type }: ConfigFile, from: string): Architecture {
  const architecture = architectures[0] ?? "";
  expectFormat(
    isArchitecture(architecture),
    from,
    `architectures: expected ${Object.keys(defaultHeadDim).join(", ")}, got ${architecture}`,
  );
  const expected = modelTypes[architecture];
  expectFormat(
    (model_type ?? expected) === expected,
    from,
    `model_type: expected ${expected}, as architectures says, got ${model_type}`,
  );
  return architecture;
}

function checkHeads(config: DecoderConfig, from: string): DecoderConfig {
  const { numHeads, numKvHeads, headDim } = config;
  expectFormat(
    numHeads % numKvHeads === 0,
    from,
    `num_key_value_heads: expected a divisor of ${numHeads}, got ${numKvHeads}`,
  );
  expectFormat(
    Number.isInteger(headDim) && headDim % 2 === 0,
    from,
    `head_dim: expected an even number, got ${headDim}`,
  );
  return config;
}

/**
 * Reads the content of a Hugging Face config.json.
 *
 * @param json the parsed file
 * @param from named in error messages, for example the file's path
 * @returns the shape of the decoder
 * @throws ERR_FORMAT for an unknown architecture, a missing or wrong value, an option that is not supported, two keys that
 *   contradict each other, or an unknown key that could change what the model computes
 * @example
 * const config = parseConfig(JSON.parse(await readFile("models/qwen2.5-0.5b/config.json", "utf8")), "models/qwen2.5-0.5b/config.json");
 */
export function parseConfig(json: unknown, from: string): DecoderConfig {
  const file = parsed(configFile(), json, from);
  const architecture = architectureOf(file, from);
  refuseUnsupported(file, from);
  checkKeys("decoder", json as object, from);
  const numHeads = file.num_attention_heads;
  const config: DecoderConfig = {
    architecture,
    vocabSize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    numLayers: file.num_hidden_layers,
    numHeads,
    numKvHeads: file.num_key_value_heads ?? numHeads,
    headDim: file.head_dim ?? defaultHeadDim[architecture] ?? file.hidden_size / numHeads,
    rmsNormEps: file.rms_norm_eps,
    ...readRope(file, from),
    maxPosition: file.max_position_embeddings,
    qkvBias: architecture === "Qwen2ForCausalLM",
    qkNorm: architecture === "Qwen3ForCausalLM",
    attentionBias: architecture !== "Qwen2ForCausalLM" && file.attention_bias === true,
    mlpBias: architecture === "LlamaForCausalLM" && file.mlp_bias === true,
    tieEmbeddings: file.tie_word_embeddings ?? false,
  };
  return checkHeads(config, from);
}

/**
 * The content of config.json for a shape; the inverse of {@link parseConfig}.
 *
 * @param config the shape
 * @returns an object for JSON.stringify, in the spelling every release of transformers reads
 * @example
 * configFileOf(config).model_type; // "qwen2"
 */
export function configFileOf(config: DecoderConfig): Record<string, unknown> {
  const biases =
    config.architecture === "LlamaForCausalLM"
      ? { attention_bias: config.attentionBias, mlp_bias: config.mlpBias }
      : config.architecture === "Qwen3ForCausalLM"
        ? { attention_bias: config.attentionBias }
        : {};
  return {
    architectures: [config.architecture],
    model_type: modelTypes[config.architecture],
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.numLayers,
    num_attention_heads: config.numHeads,
    num_key_value_heads: config.numKvHeads,
    head_dim: config.headDim,
    hidden_act: "silu",
    rms_norm_eps: config.rmsNormEps,
    max_position_embeddings: config.maxPosition,
    rope_theta: config.ropeTheta,
    rope_scaling: ropeScalingFile(config.ropeScaling),
    tie_word_embeddings: config.tieEmbeddings,
    ...biases,
  };
}
