// Attention of a few query rows over the keys and values of one key head, contiguous or in blocks; CPU, in f32 or with
// factors rounded to bf16.
//
// A row's result depends only on its query and its keys and values: not on where those lie nor on the rows computed
// with it; in f32 not on the instruction set either. Training and generation therefore agree bit for bit.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

// Where token j's key and value of one key head lie, C floats each, at
// base + block_table[j / block_tokens] * block_stride + (j % block_tokens) * token_stride.
// Without a block table all tokens are in block 0.
struct KeyValues {
  const float* keys = nullptr;
  const float* values = nullptr;
  const int32_t* block_table = nullptr;
  int64_t block_tokens = 0;  // read only with a block table
  int64_t block_stride = 0;  // in floats
  int64_t token_stride = 0;  // in floats
  // Keys with a block table may lie the other way round: channel c of token j is then at
  // keys + block_table[j / block_tokens] * block_stride + c * block_tokens + j % block_tokens. Decoding reads them
  // without turning them, fastest where block_tokens is a multiple of 16.
  bool keys_by_channel = false;
};

// Keys and values of one key head in bits of bf16, in blocks as pair products take them. Token j is at place
// p = j % block_tokens of block b = j / block_tokens, which begins at block_table[b] * block_stride, or at
// b * block_stride without a block table. There channel c of its key is at keys + (c / 2 * block_tokens + p) * 2 + c %
// 2 and channel c of its value at values + (p / 2 * C + c) * 2 + p % 2. C is even, block_tokens a multiple of
// kPairedTokens.
struct PairedKeyValues {
  const uint16_t* keys = nullptr;
  const uint16_t* values = nullptr;
  const int32_t* block_table = nullptr;
  int64_t block_tokens = 0;
  int64_t block_stride = 0;  // in values

  // Of the block that holds a token, in values.
  int64_t block_offset(int64_t token) const {
    const int64_t block = token / block_tokens;
    return (block_table == nullptr ? block : block_table[block]) * block_stride;
  }
};
inline constexpr int64_t kPairedTokens = 16;

// Writes one token's key and value, C floats each, rounded, to their place in the block that begins at `keys` and
// `values`. The value at an even place gets zeros beside it: what stood there before must not be read as a number.
void put_paired(uint16_t* keys, uint16_t* values, int64_t block_tokens, int64_t place, const float* key,
                const float* value, int64_t head_dim);

// The queries of `num_heads` heads that share one key head, at `num_positions` consecutive positions. Head h at
// position p has its C floats at query + p * position_stride + h * head_stride, and its result at the same place of
// `out`, which may be `query` itself; it attends over the first num_keys + p tokens (its own key is already there and
// is the last of them), or, when not causal, over the first num_keys.
struct QueryRows {
  float* out = nullptr;
  const float* query = nullptr;
  int64_t num_positions = 1;
  int64_t num_heads = 1;
  int64_t position_stride = 0;  // in floats
  int64_t head_stride = 0;      // in floats
  int64_t num_keys = 0;         // of the first position; at least 1
  bool is_causal = true;
};

// What becomes of a row's scores before the softmax.
struct ScoreRule {
  float scale = 1;     // of q . k
  float softcap = 0;   // s becomes softcap tanh(s / softcap); 0: s stays
  int64_t window = 0;  // a row attends over the last `window` of its tokens; 0: over all
};

// The first token that a row with `num_keys` tokens attends over.
inline int64_t first_key(const ScoreRule& rule, int64_t num_keys) {
  return rule.window > 0 && num_keys > rule.window ? num_keys - rule.window : 0;
}

// Over the row's tokens j from its first f: s_j = sum over c in order of (q_c scale) k_jc, capped; m = max s_j;
// e_j = exp(s_j - m); l = sum of e_j, 16 sums by (j - f) mod 16 added in a fixed tree; out_c = (sum over j in order of
// e_j v_jc) / l. Multiply-adds are fused. Values before f must be finite.
// log_sum_exp: m + log l per row, [num_positions, num_heads]; may be null. Any number of positions: rows are handled a
// few at a time. `scratch`: attend_scratch_floats floats. One thread; reads (num_keys + num_positions) 2 C floats per
// tile of rows.
namespace reference {
void attend(const QueryRows& rows, const KeyValues& source, int64_t head_dim, const ScoreRule& rule, float* log_sum_exp,
            float* scratch);
}
SEEKRL_KERNEL(attend);

// The same with factors of bf16 and sums of f32, as flash attention computes in that type: s_j = (q . k_j) scale with q
// rounded, one chain over pairs of channels; e_j as above, l their sum by j mod 16; out_c = (sum over pairs of tokens
// (2 i, 2 i + 1) in order of p_j v_jc) / l with p_j = e_j rounded, zero out of reach. On AMX both sums are formed as
// pair_matmul forms its own there. Between instruction sets the last bits differ. Values from the first token's pair to
// the last one's must be finite.
namespace reference {
void attend_bf16(const QueryRows& rows, const PairedKeyValues& source, int64_t head_dim, const ScoreRule& rule,
                 float* log_sum_exp, float* scratch);
}
SEEKRL_KERNEL(attend_bf16);

// Of both. max_keys: the largest number of tokens any row attends over.
int64_t attend_scratch_floats(int64_t max_keys, int64_t head_dim);

// Gradients of causal rows over keys and values without a block table, given the gradient of `rows.out`.
struct AttentionGradients {
  const float* out_grad = nullptr;     // laid out like rows.out
  const float* log_sum_exp = nullptr;  // from attend
  float* query_grad = nullptr;         // laid out like rows.out; overwritten
  float* key_grad = nullptr;           // laid out like source.keys; added to
  float* value_grad = nullptr;         // laid out like source.values; added to
};

// With p the row's probabilities, made again from log_sum_exp, and d = sum_c out_grad_c out_c:
// value_grad_j += p_j out_grad; g_j = p_j (out_grad . v_j - d) (1 - (s_j / softcap)^2), the last factor where capped;
// query_grad = scale sum_j g_j k_j; key_grad_j += g_j scale q. `scratch`: attend_backward_scratch_floats floats. One
// thread.
namespace reference {
void attend_backward(const QueryRows& rows, const KeyValues& source, const AttentionGradients& gradients,
                     int64_t head_dim, const ScoreRule& rule, float* scratch);
}
SEEKRL_KERNEL(attend_backward);

int64_t attend_backward_scratch_floats(int64_t max_keys, int64_t head_dim);

}  // namespace seekrl::kernels
