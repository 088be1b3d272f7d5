/** The architecture of the built-in world's model, as the content of `config.json`. */

/** The sizes a world model may vary; everything else is fixed. */
interface WorldModelSizes {
  /** @default 128 */
  readonly hiddenSize?: number;
  /** @default 4 */
  readonly numLayers?: number;
  /** @default 4 */
  readonly numHeads?: number;
  /** @default 320 */
  readonly intermediateSize?: number;
}

/**
 * A small Qwen2 decoder for a vocabulary of `vocabSize` pieces; head and embedding are tied.
 *
 * @param vocabSize - pieces of the tokenizer, as `worldVocabulary().length`
 */
export function worldModelConfig(vocabSize: number, sizes: WorldModelSizes = {}): Record<string, unknown> {
  const { hiddenSize = 128, numLayers = 4, numHeads = 4, intermediateSize = 320 } = sizes;
  return {
    architectures: ["Qwen2ForCausalLM"],
    model_type: "qwen2",
    vocab_size: vocabSize,
    hidden_size: hiddenSize,
    num_hidden_layers: numLayers,
    num_attention_heads: numHeads,
    num_key_value_heads: numHeads,
    intermediate_size: intermediateSize,
    hidden_act: "silu",
    max_position_embeddings: 1024,
    rope_theta: 10000,
    rms_norm_eps: 1e-6,
    // With the usual 0.02 so narrow a model takes several times as long to begin copying.
    initializer_range: 0.08,
    attention_dropout: 0,
    tie_word_embeddings: true,
    use_sliding_window: false,
    bos_token_id: null,
    eos_token_id: 1,
    pad_token_id: 0,
    torch_dtype: "float32",
  };
}
