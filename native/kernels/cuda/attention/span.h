// Attention of packed texts, for encoders, and its gradients, for training: each token sees those of the spans
// that its own continues, then its own span's up to itself (ops/attention/spans.h), or, for encoders, all of its span.
//
// A row's result depends on its own text alone: keys are taken in tiles of their text, counted from its first token.
// Gradients are summed in one order too: there are no atomics.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// Rows of a tile, consecutive tokens of one span.
constexpr int32_t kSpanTileRows = 64;

struct SpanTile {
  int32_t span;
  int32_t first;  // token of the batch
  int32_t count;  // at most kSpanTileRows
};

// Numbers of a token's heads lie together, heads C apart; tokens `stride` values apart, so that the parts of one
// product may be given: strides are multiples of 8, all parts begin at multiples of 16 bytes. All pointers are to the
// GPU's memory.
struct SpanHeads {
  const void* data;
  int64_t stride;
};

struct SpanAttention {
  SpanHeads query_THC, key_TKC, value_TKC;  // in dtype
  void* out_THC;                            // in dtype, contiguous
  float* log_sum_HT;      // log2 of the sum of 2^(s log2(e)), for the gradients; may be null when only `out` is wanted
  const SpanTile* tiles;  // those of every span, [num_tiles]
  int64_t num_tiles;
  // The tokens that the last token of span s sees, in order: path[path_start_S[s]] to path[path_start_S[s + 1]]
  // (excluded). The place of a token in its path is its position.
  const int32_t* path;
  const int32_t* path_start_S;
  const int32_t* position_T;
  int64_t num_tokens, num_heads, num_kv_heads, head_dim;  // head_dim: 32, 64, 80, 96, 128 or 256
  float scale;
  float softcap;   // a score s becomes softcap tanh(s / softcap); 0: s stays
  int64_t window;  // a row attends over its last `window` tokens; 0: over all
  Dtype dtype;     // kBf16 or kF16
  // False: a token sees its span to the end, where window is 0 and no span continues it; there are no gradients then.
  bool is_causal = true;
};

// out = softmax(scale q . k) v by row; factors of 16 bits, sums and softmax f32. 4 C FLOP a pair and head.
Status span_attention(const SpanAttention& call, void* stream);

struct SpanAttentionGradient {
  SpanAttention of;          // with its results
  const void* out_grad_THC;  // in dtype, contiguous
  void* query_grad_THC;      // in dtype; tokens as far apart as those of query, key and value
  void* key_grad_TKC;
  void* value_grad_TKC;
  float* scratch_HT;  // num_heads * num_tokens floats
  // The tokens that see the last token of span s: its own, then those of all spans that continue it; as path has them.
  const int32_t* viewers;
  const int32_t* viewers_start_S;
};

// With p the probabilities, made again from log_sum, and d = sum_c out_grad_c out_c: value_grad_j = sum p_j out_grad,
// g_j = p_j (out_grad . v_j - d) (1 - (s_j / softcap)^2), query_grad = scale sum g_j k_j, key_grad_j = scale sum g_j q.
// 10 C FLOP a pair and head, 4 C of them twice.
Status span_attention_gradient(const SpanAttentionGradient& call, void* stream);

}  // namespace seekrl::cuda
