/** The architectures that SeekRL runs: what each fixes, and what it takes where config.json says nothing. */
import type { LayerRules, Windows } from "./layers.ts";

/** The architectures of config.json that SeekRL runs. */
export type Architecture =
  | "Gemma2ForCausalLM"
  | "Gemma3ForCausalLM"
  | "LlamaForCausalLM"
  | "MistralForCausalLM"
  | "MixtralForCausalLM"
  | "Phi3ForCausalLM"
  | "Qwen2ForCausalLM"
  | "Qwen3ForCausalLM"
  | "Qwen3MoeForCausalLM"
  | "SmolLM3ForCausalLM";

/** Experts, in the keys of config.json. */
interface Experts {
  readonly count: "num_experts" | "num_local_experts";
  readonly width: "intermediate_size" | "moe_intermediate_size";
  /** The chosen experts' weights add up to one, whatever config.json says. */
  readonly isNormalised?: boolean;
}

/** What an architecture fixes, and what it takes where config.json says nothing, as transformers 5.18 has it. */
export interface Family extends LayerRules {
  readonly modelType: string;
  /** Width of a head; the quotient of sizes where there is none. */
  readonly headDim?: number;
  readonly ropeTheta?: number;
  /** Phi-3's spelling: longrope by its first releases' names, su and yarn, too; an original context beside any scaling. */
  readonly hasPhiRope?: boolean;
  /** Base of the unscaled rotary positions of sliding layers, where it is another one. */
  readonly slidingRopeTheta?: number;
  /** Whether the head is the embedding. */
  readonly isTied?: boolean;
  /** Bias on queries, keys and values, and on no other projection of attention. */
  readonly qkvBias?: boolean;
  readonly qkNorm?: boolean;
  readonly experts?: Experts;
  /** Caps of attention's scores and of the logits. */
  readonly softcaps?: { readonly attention: number; readonly logits: number };
  /** Queries, keys and values are stored as one tensor, gate and up as another. */
  readonly isFused?: boolean;
  /** Options of config.json that other families have not. */
  readonly keys: readonly string[];
  /** Gemma's activation, norms and embeddings. */
  readonly isGemma?: boolean;
}

const gemmaKeys = [
  ...["hidden_activation", "query_pre_attn_scalar", "attn_logit_softcapping"],
  ...["final_logit_softcapping", "use_bidirectional_attention", "cache_implementation"],
];
/** Of the routers' training. */
const trainingKeys = ["output_router_logits", "router_aux_loss_coef"];
const gemma = { headDim: 256, isTied: true, isGemma: true };
/** Upper layers slide where config.json asks for it (configuration_qwen2.py, configuration_qwen3.py). */
const qwenWindows: Windows = {
  when: "asked",
  usual: 4096,
  isListed: true,
  slides: (layer, { max_window_layers }) => layer >= (max_window_layers ?? 28),
};

/** Each architecture's own. */
export const families: Readonly<Record<Architecture, Family>> = {
  LlamaForCausalLM: { modelType: "llama", keys: ["mlp_bias"] },
  MistralForCausalLM: {
    modelType: "mistral",
    // With layer_types, AutoConfig makes it a Ministral (configuration_auto.py, line 421).
    windows: { when: "given", usual: 4096, isListed: true },
    keys: [],
  },
  Qwen2ForCausalLM: { modelType: "qwen2", qkvBias: true, windows: qwenWindows, keys: [] },
  Qwen3ForCausalLM: { modelType: "qwen3", qkNorm: true, headDim: 128, windows: qwenWindows, keys: [] },
  MixtralForCausalLM: {
    modelType: "mixtral",
    ropeTheta: 1_000_000,
    windows: { when: "given" },
    experts: { count: "num_local_experts", width: "intermediate_size", isNormalised: true },
    keys: ["num_local_experts", "num_experts_per_tok", "router_jitter_noise", ...trainingKeys],
  },
  Qwen3MoeForCausalLM: {
    modelType: "qwen3_moe",
    qkNorm: true,
    // One mask for all layers (modeling_qwen3_moe.py, line 483): max_window_layers counts for nothing.
    windows: { when: "asked", usual: 4096 },
    experts: { count: "num_experts", width: "moe_intermediate_size" },
    keys: [
      ...["num_experts", "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob"],
      ...["num_local_experts", "decoder_sparse_step", "mlp_only_layers", ...trainingKeys],
    ],
  },
  Phi3ForCausalLM: {
    modelType: "phi3",
    hasPhiRope: true,
    windows: { when: "given" },
    isFused: true,
    keys: [
      ...["partial_rotary_factor", "resid_pdrop", "embd_pdrop", "auto_map"],
      ...["full_attn_mod", "interpolate_factor", "lm_head_bias"],
    ],
  },
  Gemma2ForCausalLM: {
    ...gemma,
    modelType: "gemma2",
    softcaps: { attention: 50, logits: 30 },
    windows: { when: "needed", usual: 4096, isListed: true, slides: (layer) => layer % 2 === 0 },
    keys: gemmaKeys,
  },
  Gemma3ForCausalLM: {
    ...gemma,
    modelType: "gemma3_text",
    qkNorm: true,
    ropeTheta: 1_000_000,
    slidingRopeTheta: 10_000,
    windows: {
      when: "needed",
      usual: 4096,
      isListed: true,
      // _sliding_window_pattern is written and never read (configuration_gemma3.py, line 109).
      slides: (layer, { sliding_window_pattern }) => (layer + 1) % (sliding_window_pattern ?? 6) !== 0,
    },
    keys: [...gemmaKeys, "rope_local_base_freq", "sliding_window_pattern", "_sliding_window_pattern"],
  },
  SmolLM3ForCausalLM: {
    modelType: "smollm3",
    isTied: true,
    ropeTheta: 2_000_000,
    noRopeInterval: 4,
    keys: ["no_rope_layers", "no_rope_layer_interval", "mlp_bias"],
  },
};
