/** The content of config.json for a decoder's shape. */
import type { DecoderConfig } from "./config.ts";
import { families } from "./families.ts";
import { ropeScalingFile } from "./rope.ts";

/** Which tokens each layer sees, in the keys of its architecture. */
function layersFile(config: DecoderConfig): Record<string, unknown> {
  const { layerTypes, slidingWindow } = config;
  const { keys } = families[config.architecture];
  const has = (key: string): boolean => keys.includes(key);
  const layer_types = layerTypes.map((type) => (type === "sliding" ? "sliding_attention" : "full_attention"));
  const sliding_window = slidingWindow > 0 ? slidingWindow : null;
  return {
    ...(has("sliding_window") && { sliding_window }),
    ...(has("use_sliding_window") && { use_sliding_window: slidingWindow > 0 }),
    ...(has("no_rope_layers") && { no_rope_layers: layerTypes.map((type) => (type === "noRope" ? 0 : 1)) }),
    // Mistral and Phi-3 have one kind of layer.
    ...(slidingWindow > 0 && (has("max_window_layers") || has("query_pre_attn_scalar")) && { layer_types }),
  };
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

function expertsFile(config: DecoderConfig): Record<string, unknown> {
  const { numExperts, numChosenExperts: num_experts_per_tok, hasNormalisedExperts: norm_topk_prob } = config;
  if (config.architecture === "MixtralForCausalLM")
    return { num_local_experts: numExperts, num_experts_per_tok };
  const moe_intermediate_size = config.intermediateSize;
  return { num_experts: numExperts, num_experts_per_tok, moe_intermediate_size, norm_topk_prob };
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
  const { ropeScaling } = config;
  const family = families[config.architecture];
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
    ...layersFile(config),
    ...(config.numExperts > 0 && expertsFile(config)),
    tie_word_embeddings: config.tieEmbeddings,
    ...(config.architecture !== "Qwen2ForCausalLM" && { attention_bias: config.attentionBias }),
    ...(family.keys.includes("mlp_bias") && { mlp_bias: config.mlpBias }),
  };
}
