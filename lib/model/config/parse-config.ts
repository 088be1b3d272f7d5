/** A decoder's shape, read from Hugging Face's config.json. */
import type { z } from "zod";
import { expectFormat } from "../../base/errors.ts";
import { lazySchema, zod } from "../../base/on-first-use.ts";
import { parsed } from "../../base/parsed.ts";
import { type DecoderConfig, decoderConfig } from "./config.ts";
import { checkKeys } from "./config-keys.ts";
import { type Architecture, type Family, families } from "./families.ts";
import { layerKeys, readLayers } from "./layers.ts";
import { readRope, ropeKeys } from "./rope.ts";

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
const size = lazySchema((z) => z.number().int().positive());

/** The part of config.json that decides what the model computes. */
const configFile = lazySchema((z) =>
  z.object({
    ...ropeKeys(),
    ...layerKeys(),
    ...sizeKeys(),
    num_key_value_heads: upTo(2 ** 16).nullish(),
    head_dim: upTo(2 ** 16).nullish(),
    rms_norm_eps: z.number().positive(),
    hidden_act: z.string().nullish(),
    hidden_activation: z.string().nullish(),
    query_pre_attn_scalar: z.number().positive().nullish(),
    attn_logit_softcapping: z.number().positive().nullish(),
    final_logit_softcapping: z.number().positive().nullish(),
    use_bidirectional_attention: z.literal(false).nullish(),
    rope_local_base_freq: z.number().positive().nullish(),
    resid_pdrop: z.literal(0).nullish(),
    embd_pdrop: z.literal(0).nullish(),
    full_attn_mod: z.literal(1).nullish(),
    interpolate_factor: z.literal(1).nullish(),
    num_experts: size().nullish(),
    num_local_experts: size().nullish(),
    num_experts_per_tok: size().nullish(),
    moe_intermediate_size: size().nullish(),
    norm_topk_prob: flag(),
    decoder_sparse_step: z.literal(1).nullish(),
    mlp_only_layers: z.array(z.number()).max(0).nullish(),
    router_jitter_noise: z.literal(0).nullish(),
    lm_head_bias: z.literal(false).nullish(),
    tie_word_embeddings: flag(),
    attention_bias: flag(),
    mlp_bias: flag(),
    is_causal: flag(),
    attention_dropout: z.literal(0).nullish(),
    quantization_config: z.unknown().optional(),
  }),
);

type ConfigFile = z.infer<ReturnType<typeof configFile>>;

function isArchitecture(name: string): name is Architecture {
  return Object.hasOwn(families, name);
}

/** Options that change the computation and that no kernel of ours knows. */
function refuseUnsupported(file: ConfigFile, family: Family, from: string): void {
  const { is_causal, quantization_config, hidden_act, hidden_activation } = file;
  expectFormat(
    is_causal !== false,
    from,
    "is_causal: attention to later tokens is not supported in decoders",
  );
  expectFormat(quantization_config == null, from, "quantization_config: quantised weights are not supported");
  const expected = family.isGemma ? "gelu_pytorch_tanh" : "silu";
  for (const [key, value] of Object.entries({ hidden_act, hidden_activation })) {
    expectFormat((value ?? expected) === expected, from, `${key}: expected ${expected}, got ${value}`);
  }
  const caps = family.softcaps !== undefined || file.attn_logit_softcapping == null;
  expectFormat(caps, from, "attn_logit_softcapping: is not supported in this architecture");
}

const named = lazySchema((z) =>
  z.object({ architectures: z.array(z.string()).nullish(), model_type: z.string().nullish() }),
);

/** Told before anything else is read; transformers builds what `model_type` says, whatever `architectures` says. */
function architectureOf(json: unknown, from: string): Architecture {
  const { architectures, model_type } = parsed(named(), json, from);
  const architecture = architectures?.[0] ?? `none, and model_type ${model_type}`;
  expectFormat(
    isArchitecture(architecture),
    from,
    `architectures: expected ${Object.keys(families).join(", ")}, got ${architecture}`,
  );
  const expected = families[architecture].modelType;
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
  const { ropeScaling, rotaryDim } = config;
  expectFormat(rotaryDim % 2 === 0, from, `partial_rotary_factor: ${rotaryDim} channels turn, which is odd`);
  for (const factors of ropeScaling.kind === "longrope"
    ? [ropeScaling.shortFactors, ropeScaling.longFactors]
    : []) {
    const isWhole = factors.length === rotaryDim / 2;
    expectFormat(
      isWhole,
      from,
      `short_factor and long_factor: expected ${rotaryDim / 2} numbers, got ${factors.length}`,
    );
  }
  return config;
}

type Given = Readonly<Record<string, unknown>>;

/** What transformers reads over in Gemma 3, though it scales positions in other architectures. */
function refuseUnread(full: Given, scaling: Given, others: Given, from: string): void {
  const [beside] = Object.keys(others);
  const expected = "rope_parameters: expected full_attention and sliding_attention, got";
  expectFormat(beside === undefined, from, `${expected} ${beside}; older files have rope_scaling`);
  const isTyped = scaling.rope_type != null || (scaling.type ?? "default") === "default";
  expectFormat(
    isTyped,
    from,
    `rope_scaling: expected rope_type, got type ${scaling.type}, which is not read here`,
  );
  const isTruncated = full.truncate !== false && scaling.truncate !== false;
  expectFormat(isTruncated, from, "rope scaling yarn: truncate has no effect here");
}

/** Gemma 3 keeps the rotary positions of its two kinds of layers apart; older releases as flat keys. */
function flattened(json: unknown, from: string): unknown {
  const { rope_parameters, ...rest } = (json ?? {}) as { rope_parameters?: unknown };
  const { model_type, rope_scaling } = rest as { model_type?: unknown; rope_scaling?: unknown };
  if (model_type !== "gemma3_text") return json;
  const { full_attention, sliding_attention, ...others } = (rope_parameters ?? {}) as Given;
  refuseUnread((full_attention ?? {}) as Given, (rope_scaling ?? {}) as Given, others, from);
  const { rope_type = "default", rope_theta, ...scaled } = (sliding_attention ?? {}) as Given;
  const isPlain = rope_type === "default" && Object.keys(scaled).length === 0;
  expectFormat(isPlain, from, "rope_parameters: expected sliding_attention without scaling");
  const local = rope_theta === undefined ? {} : { rope_local_base_freq: rope_theta };
  return { ...rest, rope_parameters: full_attention ?? null, ...local };
}

/** What Gemma's configuration says besides. */
function gemmaOptions(file: ConfigFile, { slidingRopeTheta, softcaps }: Family): Partial<DecoderConfig> {
  const { attn_logit_softcapping: attention, final_logit_softcapping: logits } = file;
  return {
    slidingRopeTheta: slidingRopeTheta && (file.rope_local_base_freq ?? slidingRopeTheta),
    attentionScale: (file.query_pre_attn_scalar ?? 256) ** -0.5,
    attentionSoftcap: attention ?? (attention === undefined ? (softcaps?.attention ?? 0) : 0),
    logitSoftcap: logits ?? (logits === undefined ? (softcaps?.logits ?? 0) : 0),
  };
}

/** Experts, where the architecture has them. */
function expertOptions(file: ConfigFile, { experts }: Family, from: string): Partial<DecoderConfig> {
  if (experts === undefined) return {};
  const { [experts.count]: given, num_local_experts: local } = file;
  const numExperts = given ?? local;
  expectFormat(
    local == null || local === numExperts,
    from,
    `${experts.count} and num_local_experts: contradict`,
  );
  const { num_experts_per_tok: numChosenExperts, [experts.width]: intermediateSize } = file;
  expectFormat(numExperts != null, from, `${experts.count}: is missing`);
  expectFormat(numChosenExperts != null, from, "num_experts_per_tok: is missing");
  expectFormat(intermediateSize != null, from, `${experts.width}: is missing`);
  return {
    ...{ numExperts, numChosenExperts, intermediateSize },
    hasNormalisedExperts: experts.isNormalised ?? file.norm_topk_prob === true,
  };
}

/** Others' names for what the family or another key says. */
const repeatsOf = ({ qkNorm, qkvBias }: Family, { sliding_window }: ConfigFile) => ({
  ...(qkNorm === true && { use_qk_norm: true }),
  ...(qkvBias === true && { qkv_bias: true }),
  ...(sliding_window != null && { sliding_window_size: sliding_window }),
});

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
  const architecture = architectureOf(json, from);
  const flat = flattened(json, from);
  const file = parsed(configFile(), flat, from);
  const family = families[architecture];
  refuseUnsupported(file, family, from);
  checkKeys("decoder", flat as object, from, { keys: family.keys, repeats: repeatsOf(family, file) });
  const numHeads = file.num_attention_heads;
  const headDim = file.head_dim ?? family.headDim ?? file.hidden_size / numHeads;
  const { rotaryFactor, ...rope } = readRope(file, family, from);
  const config: DecoderConfig = {
    ...decoderConfig({
      architecture,
      vocabSize: file.vocab_size,
      hiddenSize: file.hidden_size,
      intermediateSize: file.intermediate_size,
      numLayers: file.num_hidden_layers,
      numHeads,
      maxPosition: file.max_position_embeddings,
      ...rope,
    }),
    numKvHeads: file.num_key_value_heads ?? numHeads,
    headDim,
    attentionScale: headDim ** -0.5,
    rmsNormEps: file.rms_norm_eps,
    rotaryDim: Math.floor(headDim * rotaryFactor),
    ...readLayers(family, file, from),
    attentionBias: family.qkvBias !== true && file.attention_bias === true,
    mlpBias: family.keys.includes("mlp_bias") && file.mlp_bias === true,
    tieEmbeddings: file.tie_word_embeddings ?? family.isTied ?? false,
    ...(family.isGemma ? gemmaOptions(file, family) : {}),
    ...expertOptions(file, family, from),
  };
  return checkHeads(config, from);
}
