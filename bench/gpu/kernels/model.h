// The kernels of a decoder's layer in the engine's order.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cases.h"

namespace seekrl::bench {

constexpr int64_t kBlockTokens = 16;

struct Model {
  std::string name;
  int64_t num_layers, hidden, num_heads, num_kv_heads, head_dim, inner, vocab_size;
  cuda::Dtype dtype = cuda::Dtype::kBf16;

  int64_t query_width() const { return num_heads * head_dim; }
  int64_t key_width() const { return num_kv_heads * head_dim; }
  int64_t qkv_width() const { return query_width() + 2 * key_width(); }
  Kind kind() const { return kind_of(dtype); }
};

// Two layers that the emulator runs in a moment.
Model tiny_model();
// Qwen2.5's shapes of 0.5B and 7B, or the tiny one.
std::vector<Model> models(bool is_tiny);

// Of a scale that keeps what goes through a product as large as it was.
inline void* weight_of(Memory& memory, cuda::Dtype dtype, int64_t outputs, int64_t inputs) {
  return memory.numbers(dtype, outputs * inputs, std::sqrt(3.0f / static_cast<float>(inputs)));
}

// out [M, N] = x [M, K] w [N, K]^T + bias.
void add_forward(Calls& calls, cuda::Dtype dtype, void* out, const void* x, const void* w, const void* bias, int64_t m,
                 int64_t n, int64_t k, std::optional<cuda::Dtype> out_dtype = std::nullopt);

struct LayerWeights {
  LayerWeights(Memory& memory, const Model& model);
  void *first_norm, *qkv, *qkv_bias, *out, *second_norm, *gate_up, *down;
};

// What a layer leaves of T rows.
struct LayerRows {
  LayerRows(Memory& memory, const Model& model, int64_t num_rows);
  int64_t num_rows;
  void *normed, *qkv, *attended, *added, *second_normed, *gate_up, *gated, *last;
  float *middle, *first_scale, *second_scale;
};

// Norms, projections and the feed-forward of a layer around `attend`, which goes from rows.normed to
// rows.attended, projections of queries, keys and values included.
// residual [T, hidden] + added becomes rows.middle after attention; what the layer adds to that is rows.last.
void add_layer(Calls& calls, const Model& model, const LayerWeights& weights, const LayerRows& rows, float* residual,
               const void* added, const std::function<void(Calls&)>& attend);

// Where projections, or their gradients, of queries, keys and values lie, tokens `stride` numbers apart.
struct Projected {
  uint16_t *query, *key, *value;
  int64_t query_stride, stride;
};
// Of one product, or of three: keys of all tokens, then their values.
Projected projected(const Model& model, void* qkv);
Projected projected(const Model& model, void* query, void* keys_and_values, int64_t num_tokens);

// From rows.normed, as the decoder has them: a product each.
void add_projections(Calls& calls, const Model& model, const LayerWeights& weights, const LayerRows& rows,
                     const Projected& to);

// Of projections in place; biases lie as one product has them, or there are none.
cuda::Rotate rotation_of(const Model& model, const Projected& at, const void* bias, int64_t num_tokens,
                         const cuda::RotaryTables& rotary);

// Every layer from a residual stream [T, hidden] that each one's output is added to; the last one's stays in rows.last.
// `attend` goes from projections to rows.attended.
void add_layers(Memory& memory, Calls& run, const Model& model, const LayerRows& rows, float* residual,
                const Projected& to, const std::function<void(Calls&, const LayerWeights&, int64_t layer)>& attend);

// Packed texts: spans of their own, `length` tokens each.
struct Texts {
  Texts(Memory& memory, const Model& model, int64_t num_texts, int64_t length, bool is_causal);
  cuda::SpanAttention attention(const Model& model, const Projected& projections, void* out) const;
  // In place.
  cuda::Rotate rotation(const Model& model, const Projected& projections, const void* bias) const;
  int64_t num_tokens, num_tiles;
  bool is_causal;
  cuda::SpanTile* tiles;
  int32_t *path, *path_start, *position, *viewers, *viewers_start;
  float *cos, *sin, *log_sum;
};

// Sequences whose keys and values are in blocks, a pair a layer; codes where there are scales.
struct CachedSequences {
  // Keys and values go to their blocks.
  cuda::Rotate rotation(const Model& model, const Projected& projections, const void* bias, int64_t layer) const;
  cuda::PagedAttention attention(const Model& model, const void* query, void* out, int64_t layer) const;
  int64_t num_rows, num_tiles, max_keys, blocks_of_one;
  float *cos, *sin, *scratch = nullptr;
  std::vector<void*> keys, values;
  float *key_scales = nullptr, *value_scales = nullptr;
  cuda::AttentionTile* tiles;
  int32_t *table, *slots;
};

// A step of `batch` sequences that have `context` tokens; codes of 8 bits in the cache.
struct Decoding {
  Model model;
  int64_t batch, context;
  bool has_codes;
};
Prepared prepare_decode(Memory& memory, const Decoding& shape);
// Prompts, and a layer of training forward and backward, of texts of `length` tokens.
Prepared prepare_prefill(Memory& memory, const Model& model, int64_t num_texts, int64_t length);
Prepared prepare_layer(Memory& memory, const Model& model, int64_t num_texts, int64_t length);

// Texts of `length` tokens, all of them rows, by tiles of prompts.
struct CachedTexts : CachedSequences {
  CachedTexts(Memory& memory, const Model& model, int64_t num_layers, int64_t num_texts, int64_t length);
  // Keys and values go to the blocks of the first layer as they are, for training.
  cuda::Rotate copy(const Model& model, const Projected& projections) const;
};

}  // namespace seekrl::bench
