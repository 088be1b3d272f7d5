// The shape of a decoder, as read from config.json by the TypeScript layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seekrl::model {

// How rotary frequencies are stretched beyond the trained context: rope_frequencies.h has the formulas.
enum class RopeScaling { kNone, kLinear, kDynamic, kLlama3, kYarn, kLongRope };

// Rotary position embedding.
struct RopeConfig {
  double theta = 10000.0;
  int64_t width = 0;  // how many of each head's channels turn, from the first; even. 0: all
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // Llama 3
  double beta_fast = 32.0, beta_slow = 1.0;              // YaRN: turns over the original context
  bool is_truncated = true;                              // YaRN: those bounds become whole frequencies
  double attention_factor = 1.0;                         // of every sine and cosine: YaRN and longrope
  std::vector<double> divisors;                          // longrope: of each frequency
  int64_t original_max_position = 8192;
  int64_t most_positions = 0;  // dynamic and longrope: the sequences they are stretched for, others none; 0: no bound
};

enum class LayerType { kFull, kSliding, kNoRope };

// The function of the feed-forward gate.
enum class Gate { kSilu, kGelu };

struct DecoderConfig {
  int64_t vocab_size = 0;         // V
  int64_t hidden_size = 0;        // D
  int64_t intermediate_size = 0;  // I
  int64_t num_layers = 0;         // L
  int64_t num_heads = 0;          // H, query heads
  int64_t num_kv_heads = 0;       // K, key and value heads; divides H
  int64_t head_dim = 0;           // C
  double rms_norm_eps = 1e-6;
  RopeConfig rope;
  std::optional<RopeConfig> sliding_rope;  // Gemma 3: of sliding layers
  std::vector<LayerType> layer_types;      // one a layer; empty: all kFull
  int64_t sliding_window = 0;              // tokens a token of a sliding layer sees, with itself
  double attention_scale = 0;              // of q . k; 0: 1 / sqrt(C)
  double attention_softcap = 0;            // Gemma 2: scores s become softcap tanh(s / softcap); 0: none
  double logit_softcap = 0;                // Gemma 2
  double embedding_scale = 1.0;            // Gemma, rounded to the weights' dtype as there
  double norm_offset = 0;                  // Gemma: norms multiply by 1 + weight
  bool post_norms = false;                 // Gemma 2 and 3: norms behind attention and feed-forward as well
  Gate gate = Gate::kSilu;
  int64_t num_experts = 0;              // of each feed-forward block; 0: it is one network
  int64_t num_chosen_experts = 0;       // for each token
  bool has_normalised_experts = false;  // the chosen ones' weights add up to one
  bool has_mixtral_names = false;       // of the experts' weights
  bool qkv_bias = false;                // Qwen2
  bool qk_norm = false;                 // Qwen3: RMS norm over each head of q and k, before rope
  bool attention_bias = false;          // Llama's option: bias on q, k, v and o
  bool mlp_bias = false;                // Llama's option
  bool tie_embeddings = false;          // the head is the embedding
};

}  // namespace seekrl::model
