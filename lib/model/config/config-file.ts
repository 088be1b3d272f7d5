/** The content of config.json for a decoder's shape. */
import { SeekError } from "../../base/errors.ts";
import type { DecoderConfig } from "./config.ts";
import { type Family, families } from "./families.ts";
import { readLayers } from "./layers.ts";
import { ropeScalingFile } from "./rope.ts";

/** Which tokens each layer sees, in the keys of its architecture. */
function layersFile(config: DecoderConfig, family: Family): Record<string, unknown> {
  const { layerTypes, slidingWindow } = config;
  if (family.noRopeInterval !== undefined)
    return { no_rope_layers: layerTypes.map((type) => (type === "noRope" ? 0 : 1)) };
  const { windows } = family;
  if (windows === undefined) return {};
  const none = windows.when === "needed" ? windows.usual : null;
  const file = {
    sliding_window: slidingWindow > 0 ? slidingWindow : none,
    ...(windows.when === "asked" && { use_sliding_window: slidingWindow > 0 }),
  };
  const usual = readLayers(family, { ...file, num_hidden_layers: layerTypes.length }, "config.json");
  // Mistral with a list is Ministral to transformers: only where the layers are not what they are without.
  const isUsual = layerTypes.every((type, i) => type === usual.layerTypes[i]);
  const layer_types = layerTypes.map((type) => (type === "sliding" ? "sliding_attention" : "full_attention"));
  return { ...file, ...(windows.isListed && !isUsual && { layer_types }) };
}

function gemmaFile(config: DecoderConfig): Record<string, unknown> {
  return {
    hidden_activation: "gelu_pytorch_tanh",
    query_pre_attn_scalar: config.attentionScale ** -2,
    attn_logit_softcapping: config.attentionSoftcap || null,
    final_logit_softcapping: config.logitSoftcap || null,
    ...(config.slidingRopeTheta !== undefined && { rope_local_base_freq: config.slidingRopeTheta }),
  };
}

function expertsFile(config: DecoderConfig, { experts }: Family): Record<string, unknown> {
  if (experts === undefined || config.numExperts === 0) return {};
  return {
    [experts.count]: config.numExperts,
    [experts.width]: config.intermediateSize,
    num_experts_per_tok: config.numChosenExperts,
    ...(experts.isNormalised !== true && { norm_topk_prob: config.hasNormalisedExperts }),
  };
}

/** These two no key says: the architecture has them or not. */
function checkFixed(config: DecoderConfig, family: Family): void {
  for (const key of ["qkvBias", "qkNorm"] as const) {
    const expected = family[key] ?? false;
    if (config[key] === expected) continue;
    throw new SeekError(
      "ERR_ARGUMENT",
      `config.json: ${key}: expected ${expected} for ${config.architecture}, got ${config[key]}; make the model with an architecture that fits`,
    );
  }
}

/**
 * The content of config.json for a shape; the inverse of {@link parseConfig}.
 *
 * @param config the shape
 * @returns an object for JSON.stringify, in the spelling every release of transformers reads
 * @throws ERR_ARGUMENT for biases or norms that the architecture has not, or that it has and the shape has not
 * @example
 * configFileOf(config).model_type; // "qwen2"
 */
export function configFileOf(config: DecoderConfig): Record<string, unknown> {
  const { ropeScaling } = config;
  const family = families[config.architecture];
  checkFixed(config, family);
  return {
    architectures: [config.architecture],
    model_type: family.modelType,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.numLayers,
    num_attention_heads: config.numHeads,
    num_key_value_heads: config.numKvHeads,
    head_dim: config.headDim,
    ...(family.isGemma ? gemmaFile(config) : { hidden_act: "silu" }),
    rms_norm_eps: config.rmsNormEps,
    max_position_embeddings: config.maxPosition,
    rope_theta: config.ropeTheta,
    rope_scaling: ropeScalingFile(ropeScaling),
    ...(ropeScaling.kind === "longrope" && {
      original_max_position_embeddings: ropeScaling.originalMaxPosition,
    }),
    ...(config.rotaryDim < config.headDim && { partial_rotary_factor: config.rotaryDim / config.headDim }),
    ...layersFile(config, family),
    ...expertsFile(config, family),
    tie_word_embeddings: config.tieEmbeddings,
    ...(family.qkvBias !== true && { attention_bias: config.attentionBias }),
    ...(family.keys.includes("mlp_bias") && { mlp_bias: config.mlpBias }),
  };
}
