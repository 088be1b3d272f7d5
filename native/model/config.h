// The shape of a decoder, as read from config.json by the TypeScript layer.
#pragma once

#include <cstdint>
#include <string>

namespace seekrl::model {

// How rotary frequencies are stretched beyond the trained context. `kLlama3` is Llama 3.1's piecewise rule.
enum class RopeScaling { kNone, kLinear, kLlama3 };

struct DecoderConfig {
  int64_t vocab_size = 0;         // V
  int64_t hidden_size = 0;        // D
  int64_t intermediate_size = 0;  // I
  int64_t num_layers = 0;         // L
  int64_t num_heads = 0;          // H, query heads
  int64_t num_kv_heads = 0;       // K, key and value heads; divides H
  int64_t head_dim = 0;           // C
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling = RopeScaling::kNone;
  double rope_factor = 1.0;
  double rope_low_freq_factor = 1.0;
  double rope_high_freq_factor = 4.0;
  int64_t rope_original_max_position = 8192;
  int64_t max_position = 0;     // longest context the model was made for
  bool qkv_bias = false;        // Qwen2
  bool qk_norm = false;         // Qwen3: RMS norm over each head of q and k, before rope
  bool attention_bias = false;  // Llama's option: bias on q, k, v and o
  bool mlp_bias = false;        // Llama's option
  bool tie_embeddings = false;  // the head is the embedding
};

}  // namespace seekrl::model
