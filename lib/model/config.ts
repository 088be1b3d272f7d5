/** A decoder's shape, read from and written to Hugging Face's config.json. */
import { z } from "zod";
import { SeekError } from "../base/errors.ts";

/** The architectures of config.json that SeekRL runs. */
export type Architecture = "LlamaForCausalLM" | "Qwen2ForCausalLM" | "Qwen3ForCausalLM";

/** How rotary frequencies are stretched beyond the trained context; `llama3` is Llama 3.1's piecewise rule. */
export type RopeScaling =
  | { readonly kind: "none" }
  | { readonly kind: "linear"; readonly factor: number }
  | {
      readonly kind: "llama3";
      readonly factor: number;
      readonly lowFreqFactor: number;
      readonly highFreqFactor: number;
      readonly originalMaxPosition: number;
    };

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

/**
 * Fills in what a new model's shape leaves out.
 *
 * @param shape the sizes; `architecture` is Qwen2's by default, `numKvHeads` all heads, `headDim` `hiddenSize / numHeads`
 * @returns the whole configuration
 * @example
 * decoderConfig({ vocabSize: 512, hiddenSize: 64, intermediateSize: 128, numLayers: 2, numHeads: 4 }).headDim; // 16
 */
export function decoderConfig(shape: DecoderShape): DecoderConfig {
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

const size = z.number().int().positive();
const positive = z.number().positive();
const flag = z.boolean().nullish();
const ropeFields = {
  type: z.string().nullish(),
  rope_type: z.string().nullish(),
  factor: positive.nullish(),
  low_freq_factor: positive.nullish(),
  high_freq_factor: positive.nullish(),
  original_max_position_embeddings: size.nullish(),
};

/** The part of config.json that decides what the model computes. */
const configFile = z.object({
  architectures: z.array(z.string()),
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  rms_norm_eps: positive,
  max_position_embeddings: size,
  rope_theta: positive.nullish(),
  rope_scaling: z.object(ropeFields).nullish(),
  rope_parameters: z.object({ ...ropeFields, rope_theta: positive.nullish() }).nullish(),
  hidden_act: z.string().nullish(),
  tie_word_embeddings: flag,
  attention_bias: flag,
  mlp_bias: flag,
  use_sliding_window: flag,
  layer_types: z.array(z.string()).nullish(),
  partial_rotary_factor: z.number().nullish(),
  attention_dropout: z.number().nullish(),
  quantization_config: z.unknown().optional(),
});

type ConfigFile = z.infer<typeof configFile>;

const defaultHeadDim: Record<Architecture, number | undefined> = {
  LlamaForCausalLM: undefined,
  Qwen2ForCausalLM: undefined,
  Qwen3ForCausalLM: 128,
};

function isArchitecture(name: string): name is Architecture {
  return Object.hasOwn(defaultHeadDim, name);
}

function expectFormat(holds: boolean, from: string, message: string): asserts holds {
  if (!holds) throw new SeekError("ERR_FORMAT", `${from}: ${message}`);
}

/** Options that change the computation and that no kernel of ours knows. */
function refuseUnsupported(file: ConfigFile, from: string): void {
  const activation = file.hidden_act ?? "silu";
  expectFormat(activation === "silu", from, `hidden_act: expected silu, got ${activation}`);
  expectFormat(
    file.use_sliding_window !== true,
    from,
    "use_sliding_window: sliding windows are not supported",
  );
  const layerType = file.layer_types?.find((type) => type !== "full_attention");
  expectFormat(layerType === undefined, from, `layer_types: expected full_attention, got ${layerType}`);
  const rotary = file.partial_rotary_factor ?? 1;
  expectFormat(rotary === 1, from, `partial_rotary_factor: expected 1, got ${rotary}`);
  const dropout = file.attention_dropout ?? 0;
  expectFormat(dropout === 0, from, `attention_dropout: expected 0, got ${dropout}`);
  expectFormat(
    file.quantization_config == null,
    from,
    "quantization_config: quantised weights are not supported",
  );
}

function readRopeScaling(file: ConfigFile, from: string): RopeScaling {
  const rope = file.rope_scaling ?? file.rope_parameters;
  const kind = rope?.rope_type ?? rope?.type ?? "default";
  if (rope == null || kind === "default") return { kind: "none" };
  const needed = <Value>(value: Value | null | undefined, name: string): Value => {
    expectFormat(value != null, from, `rope scaling ${kind}: ${name} is missing`);
    return value;
  };
  if (kind === "linear") return { kind, factor: needed(rope.factor, "factor") };
  expectFormat(kind === "llama3", from, `rope scaling: expected default, linear or llama3, got ${kind}`);
  return {
    kind,
    factor: needed(rope.factor, "factor"),
    lowFreqFactor: needed(rope.low_freq_factor, "low_freq_factor"),
    highFreqFactor: needed(rope.high_freq_factor, "high_freq_factor"),
    originalMaxPosition: needed(rope.original_max_position_embeddings, "original_max_position_embeddings"),
  };
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
 * @throws ERR_FORMAT for an unknown architecture, a missing or wrong value, or an option that is not supported
 * @example
 * const config = parseConfig(JSON.parse(await readFile("models/qwen2.5-0.5b/config.json", "utf8")), "models/qwen2.5-0.5b/config.json");
 */
export function parseConfig(json: unknown, from: string): DecoderConfig {
  const parsed = configFile.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new SeekError("ERR_FORMAT", `${from}: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const file = parsed.data;
  const architecture = file.architectures[0] ?? "";
  expectFormat(
    isArchitecture(architecture),
    from,
    `architectures: expected ${Object.keys(defaultHeadDim).join(", ")}, got ${architecture}`,
  );
  refuseUnsupported(file, from);
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
    ropeTheta: file.rope_theta ?? file.rope_parameters?.rope_theta ?? 10_000,
    ropeScaling: readRopeScaling(file, from),
    maxPosition: file.max_position_embeddings,
    qkvBias: architecture === "Qwen2ForCausalLM",
    qkNorm: architecture === "Qwen3ForCausalLM",
    attentionBias: architecture !== "Qwen2ForCausalLM" && file.attention_bias === true,
    mlpBias: architecture === "LlamaForCausalLM" && file.mlp_bias === true,
    tieEmbeddings: file.tie_word_embeddings ?? false,
  };
  return checkHeads(config, from);
}

function ropeFile(scaling: RopeScaling): Record<string, unknown> | null {
  if (scaling.kind === "none") return null;
  if (scaling.kind === "linear") return { rope_type: "linear", factor: scaling.factor };
  return {
    rope_type: "llama3",
    factor: scaling.factor,
    low_freq_factor: scaling.lowFreqFactor,
    high_freq_factor: scaling.highFreqFactor,
    original_max_position_embeddings: scaling.originalMaxPosition,
  };
}

const modelTypes: Record<Architecture, string> = {
  LlamaForCausalLM: "llama",
  Qwen2ForCausalLM: "qwen2",
  Qwen3ForCausalLM: "qwen3",
};

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
    rope_scaling: ropeFile(config.ropeScaling),
    tie_word_embeddings: config.tieEmbeddings,
    ...biases,
  };
}
