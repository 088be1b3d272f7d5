/** What of an encoder's config.json is read, what changes nothing, and what is refused by name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseEncoderConfig } from "../../../lib/search/embed/encoder-config.ts";

const bert = {
  ...{ architectures: ["BertModel"], model_type: "bert", vocab_size: 30522, hidden_size: 384 },
  ...{ intermediate_size: 1536, num_hidden_layers: 6, num_attention_heads: 12, hidden_act: "gelu" },
  ...{ max_position_embeddings: 512, type_vocab_size: 2, layer_norm_eps: 1e-12, pad_token_id: 0 },
};
const roberta = {
  ...bert,
  ...{ architectures: ["XLMRobertaModel"], model_type: "xlm-roberta", vocab_size: 250002 },
  ...{ type_vocab_size: 1, max_position_embeddings: 514, pad_token_id: 1 },
};

/** Keys of published folders beside the shape: all-MiniLM, BGE, multilingual BERT, E5 and cross-encoders. */
const published: readonly (readonly [object, object])[] = [
  [
    bert,
    {
      ...{ _name_or_path: "nreimers/MiniLM-L6-H384-uncased", gradient_checkpointing: false, use_cache: true },
      ...{ attention_probs_dropout_prob: 0.1, hidden_dropout_prob: 0.1, initializer_range: 0.02 },
      ...{ position_embedding_type: "absolute", transformers_version: "4.8.2", torch_dtype: "float32" },
      ...{ classifier_dropout: null, id2label: { 0: "LABEL_0" }, label2id: { LABEL_0: 0 } },
    },
  ],
  [
    bert,
    {
      ...{ directionality: "bidi", pooler_fc_size: 768, pooler_num_attention_heads: 12 },
      ...{ pooler_num_fc_layers: 3, pooler_size_per_head: 128, pooler_type: "first_token_transform" },
    },
  ],
  [
    bert,
    {
      ...{ sbert_ce_default_activation_function: "torch.nn.modules.linear.Identity", problem_type: null },
      sentence_transformers: { activation_fn: "torch.nn.modules.linear.Identity", version: "4.1.0" },
    },
  ],
  [
    roberta,
    {
      ...{ bos_token_id: 0, eos_token_id: 2, output_past: true, tokenizer_class: "XLMRobertaTokenizer" },
      ...{ is_decoder: false, add_cross_attention: false, pruned_heads: {}, tie_word_embeddings: true },
      ...{ is_causal: false, rope_scaling: null, dtype: "float32", chunk_size_feed_forward: 0 },
    },
  ],
];

test("the keys of published encoders that change no vector are taken", () => {
  for (const [shape, others] of published) {
    const { family, maxTokens } = parseEncoderConfig({ ...shape, ...others }, "config.json");
    assert.deepEqual([family, maxTokens], shape === bert ? ["bert", 512] : ["roberta", 512]);
  }
});

test("a key that could change what an encoder computes is refused by name", () => {
  const wrong = [
    ...[{ foo_scale: 2 }, { is_causal: true }, { is_decoder: true }, { add_cross_attention: true }],
    ...[{ pruned_heads: { 0: [1] } }, { embedding_size: 16 }, { rope_theta: 10000 }, { sliding_window: 128 }],
    ...[{ num_key_value_heads: 2 }, { head_dim: 16 }, { auto_map: { AutoModel: "modeling.Other" } }],
    ...[{ is_encoder_decoder: true }, { attention_bias: false }, { quantization_config: { bits: 4 } }],
  ];
  for (const shape of [bert, roberta]) {
    for (const change of wrong) {
      assert.throws(() => parseEncoderConfig({ ...shape, ...change }, "config.json"), {
        code: "ERR_FORMAT",
        message: new RegExp(`^config\\.json: ${Object.keys(change)[0]}: `),
      });
    }
  }
});

test("sizes that no encoder has are refused before anything is allocated", () => {
  const wrong = [
    ...[{ vocab_size: 2 ** 40 }, { hidden_size: 2 ** 30 }, { intermediate_size: 2 ** 40 }],
    ...[{ num_hidden_layers: 1e9 }, { num_attention_heads: 2 ** 20 }, { type_vocab_size: 2 ** 30 }],
    ...[{ max_position_embeddings: 2 ** 40 }, { max_position_embeddings: 2 }],
  ];
  for (const change of wrong) {
    assert.throws(() => parseEncoderConfig({ ...roberta, ...change }, "config.json"), {
      code: "ERR_FORMAT",
      message: new RegExp(`^config\\.json: ${Object.keys(change)[0]}: `),
    });
  }
});
