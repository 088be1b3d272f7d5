/** The keys of config.json: which are read, which change nothing, and the refusal of every other by name. */
import { shownValue } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";

/** What a config.json describes. */
type ConfigKind = "decoder" | "encoder";

/** Keys that decide what a decoder computes; `parseConfig` reads or checks each. */
const decoderKeys = [
  ...["architectures", "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"],
  ...["num_attention_heads", "num_key_value_heads", "head_dim", "rms_norm_eps", "max_position_embeddings"],
  ...["rope_theta", "rope_scaling", "rope_parameters", "original_max_position_embeddings", "hidden_act"],
  ...["tie_word_embeddings", "attention_bias", "mlp_bias", "use_sliding_window", "layer_types", "is_causal"],
  ...["partial_rotary_factor", "attention_dropout", "quantization_config"],
  // Written by families that have no windows as well, where they count for nothing.
  ...["sliding_window", "max_window_layers"],
];

/** Keys that decide what an encoder computes, read by `parseEncoderConfig`; and those of BERT that change no vector. */
const encoderKeys = [
  ...["architectures", "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"],
  ...["num_attention_heads", "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "hidden_act"],
  ...["position_embedding_type", "quantization_config"],
  // The word head, which ties to the embedding, is not used.
  "tie_word_embeddings",
  ...["hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "output_past"],
  // BERT's first releases: these of the pooler are written and never read.
  ...["directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"],
  ...["pooler_size_per_head", "pooler_type"],
  // What sentence-transformers applies to a re-ranker's score, which keeps the order.
  ...["sentence_transformers", "sbert_ce_default_activation_function"],
];

/** Keys without influence on logits or vectors: names, versions, training, heads of other tasks, and how text is generated. */
const harmlessKeys = [
  ...["_name_or_path", "name_or_path", "_commit_hash", "transformers_version", "torch_dtype", "dtype"],
  ...[
    "_attn_implementation",
    "_attn_implementation_autoset",
    "attn_implementation",
    "tokenizer_class",
    "prefix",
  ],
  ...["unsloth_version", "unsloth_fixed", "use_cache", "initializer_range", "pretraining_tp", "torchscript"],
  ...["_flash_attn_2_enabled", "use_flash_attention", "experts_implementation", "_experts_implementation"],
  // What of the hidden states a caller is handed.
  "tie_last_hidden_states",
  ...["transformers.js_config", "legacy", "neftune_noise_alpha", "model_max_length", "seq_length"],
  "max_sequence_length",
  ...["gradient_checkpointing", "use_bfloat16", "tf_legacy_loss", "chunk_size_feed_forward", "return_dict"],
  ...["return_dict_in_generate", "output_hidden_states", "output_attentions", "output_scores"],
  ...["id2label", "label2id", "num_labels", "problem_type", "finetuning_task", "task_specific_params"],
  ...[
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "unk_token_id",
    "sep_token_id",
    "decoder_start_token_id",
  ],
  ...["max_length", "max_new_tokens", "min_length", "do_sample", "early_stopping", "num_beams"],
  ...["num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "typical_p"],
  ...["repetition_penalty", "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size"],
  ...["bad_words_ids", "num_return_sequences", "exponential_decay_length_penalty", "suppress_tokens"],
  ...["begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values"],
  ...["epsilon_cutoff", "eta_cutoff", "encoder_repetition_penalty", "num_assistant_tokens"],
  ...["num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_lookbehind"],
  "target_lookbehind",
];

/** Keys of features that no model here has, each with the value at which it changes nothing. */
const neutral: Readonly<Record<string, boolean | number | string>> = {
  // Older releases of transformers write these into every file.
  ...{ is_decoder: false, is_encoder_decoder: false, add_cross_attention: false, tie_encoder_decoder: false },
  ...{ cross_attention_hidden_size: false, pruned_heads: false, use_mrope: false, per_layer_config: false },
  // Of models that are trained elsewhere and published as Llama.
  ...{
    is_llama_config: true,
    rope_interleaved: false,
    qk_layernorm: false,
    use_qk_norm: false,
    alibi: false,
    qkv_bias: false,
    shared_expert_intermediate_size: 0,
    activation: "swiglu",
  },
  ...{ logit_scale: 1, logits_scaling: 1, embedding_multiplier: 1, residual_multiplier: 1 },
  ...{ lm_head_bias: false, resid_pdrop: 0, embd_pdrop: 0 },
  // Read where a decoder is parsed; an encoder's attention is never causal.
  is_causal: false,
};

const known: Readonly<Record<ConfigKind, ReadonlySet<string>>> = {
  decoder: new Set([...decoderKeys, ...harmlessKeys]),
  encoder: new Set([...encoderKeys, ...harmlessKeys]),
};

function isNeutral(expected: unknown, value: unknown): boolean {
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return value === expected || (expected === false && isEmpty);
}

/** What of the keys is this model's own. */
interface OwnKeys {
  /** Those that only its family has. */
  readonly keys: readonly string[];
  /** Those that transformers does not read, each with the value that says what the model does anyway. */
  readonly repeats: Readonly<Record<string, boolean | number>>;
}

/**
 * Refuses a key that may change what the model computes and that nothing here reads.
 *
 * @param own those of this model
 * @throws ERR_FORMAT naming the first such key
 */
export function checkKeys(
  kind: ConfigKind,
  file: object,
  from: string,
  { keys, repeats }: OwnKeys = { keys: [], repeats: {} },
): void {
  for (const [key, value] of Object.entries(file)) {
    if (value === null || known[kind].has(key) || keys.includes(key)) continue;
    const expected = [neutral, repeats].flatMap((values) =>
      Object.hasOwn(values, key) ? [values[key]] : [],
    );
    if (expected.some((each) => isNeutral(each, value))) continue;
    const shown = expected.map((each) => (each === false ? "false or none" : each)).join(" or ");
    const problem =
      expected.length > 0
        ? `is not supported; expected ${shown}, got ${shownValue(value)}`
        : "is unknown and could change what the model computes; remove it if it does not";
    throw new SeekError("ERR_FORMAT", `${from}: ${key}: ${problem}`);
  }
}
