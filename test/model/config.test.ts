/** config.json in the spellings that are met in the wild. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DecoderShape, decoderConfig } from "../../lib/model/config/config.ts";
import { configFileOf } from "../../lib/model/config/config-file.ts";
import { type Architecture, families } from "../../lib/model/config/families.ts";
import { parseConfig } from "../../lib/model/config/parse-config.ts";

const base = {
  architectures: ["LlamaForCausalLM"],
  vocab_size: 100,
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  rms_norm_eps: 1e-5,
  max_position_embeddings: 512,
};
const parse = (changes: Record<string, unknown>) => parseConfig({ ...base, ...changes }, "config.json");

test("what is left out takes the architecture's usual value", () => {
  const config = parse({});
  assert.equal(config.numKvHeads, 4);
  assert.equal(config.headDim, 16);
  assert.equal(config.ropeTheta, 10_000);
  assert.deepEqual(config.ropeScaling, { kind: "none" });
  assert.equal(config.tieEmbeddings, false);
  assert.equal(parse({ architectures: ["Qwen2ForCausalLM"] }).qkvBias, true);
  const qwen3 = parse({ architectures: ["Qwen3ForCausalLM"] });
  assert.equal(qwen3.qkNorm, true);
  assert.equal(qwen3.headDim, 128);
});

test("rope scaling is read in every spelling", () => {
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  };
  const expected = {
    kind: "llama3",
    factor: 8,
    lowFreqFactor: 1,
    highFreqFactor: 4,
    originalMaxPosition: 8192,
  };
  assert.deepEqual(parse({ rope_scaling: { type: "llama3", ...llama3 } }).ropeScaling, expected);
  assert.deepEqual(parse({ rope_scaling: { rope_type: "llama3", ...llama3 } }).ropeScaling, expected);
  const nested = parse({ rope_parameters: { rope_type: "llama3", rope_theta: 5e5, ...llama3 } });
  assert.deepEqual(nested.ropeScaling, expected);
  assert.equal(nested.ropeTheta, 5e5);
  assert.deepEqual(parse({ rope_scaling: { type: "linear", factor: 2 } }).ropeScaling, {
    kind: "linear",
    factor: 2,
  });
  assert.deepEqual(parse({ rope_scaling: { rope_type: "default" } }).ropeScaling, { kind: "none" });
});

const experts = { num_experts_per_tok: 2, moe_intermediate_size: 8 };
const refused: [string, Record<string, unknown>][] = [
  ["architectures", { architectures: ["GPT2LMHeadModel"] }],
  ["architectures", { architectures: [] }],
  ["vocab_size", { vocab_size: undefined }],
  ["hidden_size", { hidden_size: -1 }],
  ["hidden_act", { hidden_act: "gelu" }],
  ["rope scaling", { rope_scaling: { rope_type: "proportional", factor: 2 } }],
  ["factor", { rope_scaling: { rope_type: "yarn" } }],
  ["long_factor", { rope_scaling: { rope_type: "longrope", short_factor: [1, 1, 1, 1, 1, 1, 1, 1] } }],
  [
    "short_factor",
    {
      rope_scaling: { rope_type: "longrope", short_factor: [1], long_factor: [1] },
      max_position_embeddings: 9,
    },
  ],
  ["query_pre_attn_scalar", { query_pre_attn_scalar: 20 }],
  ["hidden_activation", { hidden_activation: "gelu" }],
  ["hidden_act", { architectures: ["Gemma2ForCausalLM"], hidden_act: "silu" }],
  ["low_freq_factor", { rope_scaling: { rope_type: "llama3", factor: 2 } }],
  ["use_sliding_window", { use_sliding_window: true }],
  ["layer_types", { layer_types: ["full_attention", "sliding_attention"] }],
  ["partial_rotary_factor", { partial_rotary_factor: 0.5 }],
  ["quantization_config", { quantization_config: { bits: 4 } }],
  ["num_key_value_heads", { num_key_value_heads: 3 }],
  ["head_dim", { head_dim: 15 }],
  ["is_causal", { is_causal: false }],
  ["rope_parameters", { rope_parameters: 3 }],
  ["rope_theta", { rope_theta: 70, rope_parameters: { rope_theta: 500 } }],
  ["rope_theta", { rope_theta: 70, rope_scaling: { rope_type: "linear", factor: 2, rope_theta: 500 } }],
  ["rope_scaling and rope_parameters", { rope_scaling: { factor: 2 }, rope_parameters: { factor: 3 } }],
  ["partial_rotary_factor", { rope_parameters: { rope_theta: 500, partial_rotary_factor: 0.5 } }],
  ["original_max_position_embeddings", { original_max_position_embeddings: 64 }],
  ["model_type", { model_type: "qwen2" }],
  ["num_hidden_layers", { num_hidden_layers: 1e9 }],
  ["layer_types", { layer_types: ["full_attention"] }],
  [
    "num_local_experts",
    { architectures: ["Qwen3MoeForCausalLM"], num_experts: 4, num_local_experts: 2, ...experts },
  ],
];

for (const [name, changes] of refused) {
  test(`${JSON.stringify(changes)} is refused by name`, () => {
    assert.throws(
      () => parse(changes),
      (error: { code?: string; message: string }) => {
        assert.equal(error.code, "ERR_FORMAT");
        assert.ok(error.message.includes(name), error.message);
        return true;
      },
    );
  });
}

test("biases and norms that config.json cannot say are refused where it is written", () => {
  const sizes = { vocabSize: 8, hiddenSize: 8, intermediateSize: 8, numLayers: 1, numHeads: 2 };
  const refuses = (shape: Partial<DecoderShape>, message: RegExp): void =>
    assert.throws(() => configFileOf(decoderConfig({ ...sizes, ...shape })), {
      code: "ERR_ARGUMENT",
      message,
    });
  refuses({ qkvBias: false }, /qkvBias: expected true for Qwen2ForCausalLM, got false/);
  refuses({ architecture: "LlamaForCausalLM", qkvBias: true }, /qkvBias: expected false for Llama/);
  refuses({ architecture: "Qwen3ForCausalLM", qkNorm: false }, /qkNorm: expected true for Qwen3/);
});

test("a shape that is written is read back", () => {
  for (const architecture of Object.keys(families) as Architecture[]) {
    const config = decoderConfig({
      architecture,
      vocabSize: 100,
      hiddenSize: 64,
      intermediateSize: 96,
      numLayers: 2,
      numHeads: 4,
      numKvHeads: 2,
      ropeScaling: { kind: "linear", factor: 3 },
      ...(/Moe|Mixtral/.test(architecture) && { numExperts: 4, numChosenExperts: 2 }),
    });
    assert.deepEqual(parseConfig(configFileOf(config), "config.json"), config);
  }
});

// Which layers slide: modeling_mistral.py line 364, modeling_mixtral.py line 454, modeling_phi3.py line 395 and
// modeling_qwen3_moe.py line 483 have one mask for all layers; configuration_qwen2.py line 84, configuration_gemma3.py
// line 109 and configuration_auto.py line 421 make the lists (transformers 5.18). variants.json holds their numbers.
const [full, sliding] = ["full_attention", "sliding_attention"];
const windows: [string, Record<string, unknown>, string][] = [
  ["MistralForCausalLM", { sliding_window: 8, use_sliding_window: false }, "sliding sliding 8"],
  ["MistralForCausalLM", { sliding_window: 8, layer_types: [full, full] }, "full full 0"],
  ["MistralForCausalLM", { sliding_window: 8, layer_types: [sliding, full] }, "sliding full 8"],
  ["MistralForCausalLM", {}, "sliding sliding 4096"],
  ["MixtralForCausalLM", { sliding_window: 8, layer_types: [sliding, sliding] }, "sliding sliding 8"],
  ["MixtralForCausalLM", { sliding_window: 8, layer_types: [full, full] }, "layer_types"],
  ["Phi3ForCausalLM", { sliding_window: 8 }, "sliding sliding 8"],
  ["Phi3ForCausalLM", { sliding_window: 8, layer_types: [full, full] }, "layer_types"],
  ["Qwen3MoeForCausalLM", { use_sliding_window: true, sliding_window: 4 }, "sliding sliding 4"],
  ["Qwen3MoeForCausalLM", { sliding_window: 4 }, "full full 0"],
  [
    "Qwen2ForCausalLM",
    { use_sliding_window: true, sliding_window: null, max_window_layers: 0 },
    "full full 0",
  ],
  [
    "Qwen2ForCausalLM",
    { use_sliding_window: true, sliding_window: 4, max_window_layers: 1 },
    "full sliding 4",
  ],
  ["SmolLM3ForCausalLM", { sliding_window: 4, layer_types: [sliding, full] }, "layer_types"],
  ["SmolLM3ForCausalLM", { sliding_window: 4, use_sliding_window: true }, "use_sliding_window"],
  ["Gemma2ForCausalLM", { sliding_window: null }, "sliding_window"],
  ["Gemma3ForCausalLM", { _sliding_window_pattern: 2 }, "sliding sliding 4096"],
  ["Gemma3ForCausalLM", { sliding_window_pattern: 2 }, "sliding full 4096"],
];
const expertKeys = { num_experts_per_tok: 2, num_local_experts: 4 };

for (const [architecture, changes, expected] of windows) {
  test(`${architecture} with ${JSON.stringify(changes)}: ${expected}`, () => {
    const experts = {
      ...(/Moe|Mixtral/.test(architecture) && expertKeys),
      ...(/Moe/.test(architecture) && { moe_intermediate_size: 8 }),
    };
    const read = () => parse({ architectures: [architecture], ...experts, ...changes });
    if (!/ /.test(expected))
      return assert.throws(read, { code: "ERR_FORMAT", message: new RegExp(expected) });
    const config = read();
    assert.equal([...config.layerTypes, config.slidingWindow].join(" "), expected);
    assert.deepEqual(parseConfig(configFileOf(config), "config.json"), config);
  });
}

test("an unknown key is refused by name, one that is null or known to be harmless is not", () => {
  assert.throws(() => parse({ logit_scale: 0.5 }), /logit_scale/);
  assert.throws(() => parse({ is_decoder: true }), /is_decoder/);
  parse({ logit_scale: null, is_decoder: false, transformers_version: "5.18.0", temperature: 0.6 });
});

/** SmolLM2-135M-Instruct's. */
const smollm2 = {
  ...{ architectures: ["LlamaForCausalLM"], attention_bias: false, attention_dropout: 0.0, bos_token_id: 1 },
  ...{ eos_token_id: 2, hidden_act: "silu", hidden_size: 576, initializer_range: 0.041666666666666664 },
  ...{ intermediate_size: 1536, is_llama_config: true, max_position_embeddings: 8192, mlp_bias: false },
  ...{ model_type: "llama", num_attention_heads: 9, num_hidden_layers: 30, num_key_value_heads: 3 },
  ...{ pad_token_id: 2, pretraining_tp: 1, rms_norm_eps: 1e-5, rope_interleaved: false, rope_scaling: null },
  ...{
    rope_theta: 100_000,
    tie_word_embeddings: true,
    torch_dtype: "bfloat16",
    transformers_version: "4.42.3",
  },
  "transformers.js_config": { kv_cache_dtype: { q4f16: "float16", fp16: "float16" } },
  ...{ use_cache: true, vocab_size: 49_152 },
};

test("SmolLM2's config.json is read; rope_interleaved would turn other channels", () => {
  const { numLayers, ropeTheta, tieEmbeddings } = parseConfig(smollm2, "config.json");
  assert.deepEqual([numLayers, ropeTheta, tieEmbeddings], [30, 100_000, true]);
  const interleaved = { ...smollm2, rope_interleaved: true };
  assert.throws(
    () => parseConfig(interleaved, "config.json"),
    /rope_interleaved: .*expected false or none, got true/,
  );
  const other = { ...smollm2, is_llama_config: false };
  assert.throws(() => parseConfig(other, "config.json"), /is_llama_config: .*expected true, got false/);
});

// The keys of each are its own: none has rms_norm_eps.
const others: [string, Record<string, unknown>][] = [
  ["OlmoForCausalLM", { model_type: "olmo", clip_qkv: null, rope_scaling: null }],
  ["Olmo2ForCausalLM", { model_type: "olmo2", rms_norm_eps: 1e-6, rope_parameters: { full_attention: {} } }],
  ["CohereForCausalLM", { model_type: "cohere", layer_norm_eps: 1e-5, logit_scale: 0.0625 }],
  ["StableLmForCausalLM", { model_type: "stablelm", layer_norm_eps: 1e-5, partial_rotary_factor: 0.25 }],
  ["PhiForCausalLM", { model_type: "phi", layer_norm_eps: 1e-5, hidden_act: "gelu_new" }],
  ["Starcoder2ForCausalLM", { model_type: "starcoder2", norm_epsilon: 1e-5, mlp_type: "default" }],
  ["GPT2LMHeadModel", { model_type: "gpt2", n_embd: 768, n_layer: 12, n_positions: 1024 }],
  ["Gemma3ForConditionalGeneration", { model_type: "gemma3", text_config: {}, vision_config: {} }],
];

for (const [name, file] of others) {
  test(`${name} is refused by its name`, () => {
    const read = (changes: object) => () => parseConfig({ ...file, ...changes }, "config.json");
    const message = new RegExp(`architectures: expected LlamaForCausalLM, .*got ${name}$`);
    assert.throws(read({ architectures: [name] }), { code: "ERR_FORMAT", message });
    assert.throws(read({}), { code: "ERR_FORMAT", message: new RegExp(`model_type ${file.model_type}$`) });
  });
}
