/** The architectures that SeekRL runs: what each fixes, what config.json may say of it, and which layers it has. */
import type { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";

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

/** What a layer's tokens attend to: all before them, a window of them, or all and without rotary positions. */
export type LayerType = "full" | "sliding" | "noRope";

/** What an architecture fixes, and what it takes where config.json says nothing, as transformers 5.18 has it. */
export interface Family {
  readonly modelType: string;
  /** Width of a head; the quotient of sizes where there is none. */
  readonly headDim?: number;
  readonly ropeTheta?: number;
  /** Whether the head is the embedding. */
  readonly isTied?: boolean;
  readonly qkvBias?: boolean;
  readonly qkNorm?: boolean;
  /** Options of config.json that other families have not. */
  readonly keys: readonly string[];
  /** Gemma's activation, norms and embeddings. */
  readonly isGemma?: boolean;
}

const windowKeys = ["sliding_window", "use_sliding_window", "max_window_layers"];
const gemmaKeys = [
  ...["sliding_window", "hidden_activation", "query_pre_attn_scalar", "attn_logit_softcapping"],
  ...["final_logit_softcapping", "use_bidirectional_attention", "cache_implementation"],
];
/** Of the routers' training. */
const trainingKeys = ["output_router_logits", "router_aux_loss_coef"];
const gemma = { headDim: 256, isTied: true, isGemma: true };

/** Each architecture's own. */
export const families: Readonly<Record<Architecture, Family>> = {
  LlamaForCausalLM: { modelType: "llama", keys: ["mlp_bias"] },
  MistralForCausalLM: { modelType: "mistral", keys: ["sliding_window"] },
  Qwen2ForCausalLM: { modelType: "qwen2", qkvBias: true, keys: windowKeys },
  Qwen3ForCausalLM: { modelType: "qwen3", qkNorm: true, headDim: 128, keys: windowKeys },
  MixtralForCausalLM: {
    modelType: "mixtral",
    ropeTheta: 1_000_000,
    keys: [
      "sliding_window",
      "num_local_experts",
      "num_experts_per_tok",
      "router_jitter_noise",
      ...trainingKeys,
    ],
  },
  Qwen3MoeForCausalLM: {
    modelType: "qwen3_moe",
    qkNorm: true,
    keys: [
      ...[
        "num_experts",
        "num_experts_per_tok",
        "moe_intermediate_size",
        "norm_topk_prob",
        "num_local_experts",
      ],
      ...["decoder_sparse_step", "mlp_only_layers", "use_sliding_window", ...trainingKeys],
    ],
  },
  Phi3ForCausalLM: {
    modelType: "phi3",
    keys: [
      ...["sliding_window", "partial_rotary_factor", "resid_pdrop", "embd_pdrop", "auto_map"],
      ...["full_attn_mod", "interpolate_factor", "lm_head_bias"],
    ],
  },
  Gemma2ForCausalLM: { ...gemma, modelType: "gemma2", keys: gemmaKeys },
  Gemma3ForCausalLM: {
    ...gemma,
    modelType: "gemma3_text",
    qkNorm: true,
    ropeTheta: 1_000_000,
    keys: [...gemmaKeys, "rope_local_base_freq", "sliding_window_pattern", "_sliding_window_pattern"],
  },
  SmolLM3ForCausalLM: {
    modelType: "smollm3",
    isTied: true,
    ropeTheta: 2_000_000,
    keys: ["no_rope_layers", "no_rope_layer_interval", "mlp_bias", ...windowKeys],
  },
};

const size = lazySchema((z) => z.number().int().positive());
const flag = lazySchema((z) => z.boolean().nullish());

/** The keys of config.json that say which tokens a layer sees. */
export const layerKeys = lazySchema((z) => ({
  num_hidden_layers: size().max(4096),
  use_sliding_window: flag(),
  sliding_window: size().nullish(),
  max_window_layers: z.number().int().nonnegative().nullish(),
  sliding_window_pattern: size().nullish(),
  _sliding_window_pattern: size().nullish(),
  layer_types: z.array(z.enum(["full_attention", "sliding_attention"])).nullish(),
  no_rope_layers: z.array(z.literal([0, 1])).nullish(),
  no_rope_layer_interval: size().nullish(),
}));

const layerFile = lazySchema((z) => z.object(layerKeys()));
type LayerFile = z.infer<ReturnType<typeof layerFile>>;

/** Tokens that a sliding layer sees, where transformers has such layers by default. */
const usualWindow = 4096;

function windowOf(architecture: Architecture, file: LayerFile): number {
  const { sliding_window, use_sliding_window } = file;
  if (families[architecture].keys === windowKeys) {
    return use_sliding_window === true ? (sliding_window ?? usualWindow) : 0;
  }
  if (!families[architecture].keys.includes("sliding_window") || use_sliding_window === false) return 0;
  if (architecture === "Phi3ForCausalLM" || architecture === "MixtralForCausalLM") return sliding_window ?? 0;
  return sliding_window === undefined ? usualWindow : (sliding_window ?? 0);
}

/** Whether layer `i` slides where config.json does not list the layers. */
function slides(architecture: Architecture, file: LayerFile, i: number): boolean {
  if (architecture === "Gemma2ForCausalLM") return i % 2 === 0;
  if (architecture === "Gemma3ForCausalLM") {
    return (i + 1) % (file.sliding_window_pattern ?? file._sliding_window_pattern ?? 6) !== 0;
  }
  return families[architecture].keys !== windowKeys || i >= (file.max_window_layers ?? 28);
}

/** SmolLM3: every fourth layer turns nothing. */
function readNoRope(file: LayerFile, from: string): LayerType[] {
  const { num_hidden_layers: count, no_rope_layer_interval: interval, use_sliding_window } = file;
  if (use_sliding_window === true) {
    throw new SeekError("ERR_FORMAT", `${from}: use_sliding_window: is not supported in this architecture`);
  }
  const turns =
    file.no_rope_layers ?? Array.from({ length: count }, (_, i) => ((i + 1) % (interval ?? 4) === 0 ? 0 : 1));
  if (turns.length < count) {
    throw new SeekError(
      "ERR_FORMAT",
      `${from}: no_rope_layers: expected ${count} entries, got ${turns.length}`,
    );
  }
  return turns.slice(0, count).map((turn) => (turn === 1 ? "full" : "noRope"));
}

/**
 * Reads which tokens each layer sees.
 *
 * @throws ERR_FORMAT where layers are listed that the architecture cannot have
 */
export function readLayers(
  architecture: Architecture,
  file: LayerFile,
  from: string,
): { layerTypes: LayerType[]; slidingWindow: number } {
  const { num_hidden_layers: count, layer_types: listed } = file;
  if (listed != null && listed.length !== count) {
    throw new SeekError(
      "ERR_FORMAT",
      `${from}: layer_types: expected num_hidden_layers (${count}) entries, got ${listed.length}`,
    );
  }
  if (file.use_sliding_window === true && !families[architecture].keys.includes("use_sliding_window")) {
    throw new SeekError("ERR_FORMAT", `${from}: use_sliding_window: is not supported in this architecture`);
  }
  if (architecture === "SmolLM3ForCausalLM") {
    return { layerTypes: readNoRope(file, from), slidingWindow: 0 };
  }
  const slidingWindow = windowOf(architecture, file);
  const isListed = listed != null && architecture !== "MistralForCausalLM";
  const layerTypes = Array.from({ length: count }, (_, i): LayerType => {
    const isSliding = isListed
      ? listed[i] === "sliding_attention"
      : slidingWindow > 0 && slides(architecture, file, i);
    return isSliding ? "sliding" : "full";
  });
  const fits = !isListed || slidingWindow > 0 || !layerTypes.includes("sliding");
  if (!fits) {
    throw new SeekError("ERR_FORMAT", `${from}: layer_types: sliding layers have no sliding_window here`);
  }
  return { layerTypes, slidingWindow: layerTypes.includes("sliding") ? slidingWindow : 0 };
}
