// Attention written plainly, in the order its header states, and the place of paired keys and values.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/attention.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/reference_lanes.h"
#include "kernels/products/bf16.h"
#include "kernels/rows.h"

namespace seekrl::kernels {

void put_paired(uint16_t* keys, uint16_t* values, int64_t block_tokens, int64_t place, const float* key,
                const float* value, int64_t head_dim) {
  constexpr int64_t kStep = 64;
  uint16_t rounded[kStep];
  for (int64_t first = 0; first < head_dim; first += kStep) {
    const int64_t count = std::min(kStep, head_dim - first);
    round_to_bf16(rounded, key + first, count);
    for (int64_t c = 0; c < count; c += 2) {
      std::memcpy(keys + ((first + c) / 2 * block_tokens + place) * 2, rounded + c, 2 * sizeof(uint16_t));
    }
    round_to_bf16(rounded, value + first, count);
    uint16_t* const to = values + (place / 2 * head_dim + first) * 2;
    for (int64_t c = 0; c < count; ++c) {
      if (place % 2 == 0) to[2 * c + 1] = 0;
      to[2 * c + place % 2] = rounded[c];
    }
  }
}

namespace reference {

namespace {

int64_t token_offset(const KeyValues& source, int64_t token) {
  if (source.block_table == nullptr) return token * source.token_stride;
  const int64_t block = source.block_table[token / source.block_tokens];
  return block * source.block_stride + (token % source.block_tokens) * source.token_stride;
}

int64_t key_offset(const KeyValues& source, int64_t token) {
  if (!source.keys_by_channel) return token_offset(source, token);
  return source.block_table[token / source.block_tokens] * source.block_stride + token % source.block_tokens;
}

void attend_row(float* out, const float* query, const KeyValues& source, int64_t num_keys, int64_t head_dim,
                const ScoreRule& rule, float* log_sum_exp, float* scores) {
  const int64_t first = first_key(rule, num_keys);
  const int64_t key_stride = source.keys_by_channel ? source.block_tokens : 1;
  for (int64_t j = first; j < num_keys; ++j) {
    const float* key = source.keys + key_offset(source, j);
    float score = 0;
    for (int64_t c = 0; c < head_dim; ++c) score = std::fma(query[c] * rule.scale, key[c * key_stride], score);
    scores[j] = score;
  }
  if (rule.softcap > 0) softcap(scores + first, num_keys - first, rule.softcap);
  const float max = *std::max_element(scores + first, scores + num_keys);
  float lanes[16] = {};
  for (int64_t j = first; j < num_keys; ++j) {
    scores[j] = exp_f32(scores[j] - max);
    lanes[(j - first) % 16] += scores[j];
  }
  const float sum = sum_lanes(lanes);
  for (int64_t c = 0; c < head_dim; ++c) {
    float mixed = 0;
    for (int64_t j = first; j < num_keys; ++j) {
      mixed = std::fma(scores[j], source.values[token_offset(source, j) + c], mixed);
    }
    out[c] = mixed / sum;
  }
  if (log_sum_exp != nullptr) *log_sum_exp = max + std::log(sum);
}

float rounded(float x) { return from_bf16(to_bf16(x)); }

// Where the token's block begins, in values.
int64_t block_offset(const PairedKeyValues& source, int64_t token) {
  const int64_t block = token / source.block_tokens;
  return (source.block_table == nullptr ? block : source.block_table[block]) * source.block_stride;
}

float key_at(const PairedKeyValues& source, int64_t token, int64_t c) {
  const int64_t pair = c / 2 * source.block_tokens + token % source.block_tokens;
  return from_bf16(source.keys[block_offset(source, token) + 2 * pair + c % 2]);
}

float value_at(const PairedKeyValues& source, int64_t token, int64_t c, int64_t head_dim) {
  const int64_t place = token % source.block_tokens;
  return from_bf16(source.values[block_offset(source, token) + (place / 2 * head_dim + c) * 2 + place % 2]);
}

void attend_paired_row(float* out, const float* query, const PairedKeyValues& source, int64_t num_keys,
                       int64_t head_dim, const ScoreRule& rule, float* log_sum_exp, float* scores) {
  const int64_t first = first_key(rule, num_keys);
  for (int64_t j = first; j < num_keys; ++j) {
    float score = 0;
    for (int64_t c = 0; c < head_dim; c += 2) {
      score = std::fma(rounded(query[c + 1]), key_at(source, j, c + 1), score);
      score = std::fma(rounded(query[c]), key_at(source, j, c), score);
    }
    scores[j] = score * rule.scale;
  }
  if (rule.softcap > 0) softcap(scores + first, num_keys - first, rule.softcap);
  const float max = *std::max_element(scores + first, scores + num_keys);
  float lanes[16] = {};
  for (int64_t j = first; j < num_keys; ++j) {
    const float e = exp_f32(scores[j] - max);
    lanes[j % 16] += e;
    scores[j] = rounded(e);
  }
  const float sum = sum_lanes(lanes);
  const auto weighted = [&](int64_t j, int64_t c, float mixed) {
    return j < first || j >= num_keys ? mixed : std::fma(scores[j], value_at(source, j, c, head_dim), mixed);
  };
  for (int64_t c = 0; c < head_dim; ++c) {
    float mixed = 0;
    for (int64_t j = first / 2 * 2; j < num_keys; j += 2) mixed = weighted(j, c, weighted(j + 1, c, mixed));
    out[c] = mixed / sum;
  }
  if (log_sum_exp != nullptr) *log_sum_exp = max + std::log(sum);
}

// Calls body(offset, keys, place of the log-sum-exp) for each row.
template <class Body>
void for_rows(const QueryRows& rows, float* log_sum_exp, const Body& body) {
  for (int64_t p = 0; p < rows.num_positions; ++p) {
    for (int64_t h = 0; h < rows.num_heads; ++h) {
      body(p * rows.position_stride + h * rows.head_stride, rows.is_causal ? rows.num_keys + p : rows.num_keys,
           log_sum_exp == nullptr ? nullptr : log_sum_exp + p * rows.num_heads + h);
    }
  }
}

}  // namespace

void attend(const QueryRows& rows, const KeyValues& source, int64_t head_dim, const ScoreRule& rule, float* log_sum_exp,
            float* scratch) {
  for_rows(rows, log_sum_exp, [&](int64_t offset, int64_t num_keys, float* sum) {
    attend_row(rows.out + offset, rows.query + offset, source, num_keys, head_dim, rule, sum, scratch);
  });
}

void attend_bf16(const QueryRows& rows, const PairedKeyValues& source, int64_t head_dim, const ScoreRule& rule,
                 float* log_sum_exp, float* scratch) {
  for_rows(rows, log_sum_exp, [&](int64_t offset, int64_t num_keys, float* sum) {
    attend_paired_row(rows.out + offset, rows.query + offset, source, num_keys, head_dim, rule, sum, scratch);
  });
}

void attend_backward(const QueryRows& rows, const KeyValues& source, const AttentionGradients& gradients,
                     int64_t head_dim, const ScoreRule& rule, float* /*scratch*/) {
  const float inverse_cap = rule.softcap > 0 ? 1.0f / rule.softcap : 0.0f;
  for (int64_t row = 0; row < rows.num_positions * rows.num_heads; ++row) {
    const int64_t position = row / rows.num_heads;
    const int64_t offset = position * rows.position_stride + row % rows.num_heads * rows.head_stride;
    const float *query = rows.query + offset, *out = rows.out + offset, *out_grad = gradients.out_grad + offset;
    float* query_grad = gradients.query_grad + offset;
    float shared = 0;
    for (int64_t c = 0; c < head_dim; ++c) {
      shared += out_grad[c] * out[c];
      query_grad[c] = 0;
    }
    const int64_t num_keys = rows.num_keys + position;
    for (int64_t j = first_key(rule, num_keys); j < num_keys; ++j) {
      const int64_t at = j * source.token_stride;
      float score = 0, product = 0;
      for (int64_t c = 0; c < head_dim; ++c) {
        score = std::fma(query[c] * rule.scale, source.keys[at + c], score);
        product = std::fma(out_grad[c], source.values[at + c], product);
      }
      if (rule.softcap > 0) softcap(&score, 1, rule.softcap);
      const float p = exp_f32(score - gradients.log_sum_exp[row]), capped = score * inverse_cap;
      const float grad = p * (product - shared) * (1.0f - capped * capped) * rule.scale;
      for (int64_t c = 0; c < head_dim; ++c) {
        gradients.value_grad[at + c] += p * out_grad[c];
        gradients.key_grad[at + c] += grad * query[c];
        query_grad[c] += grad * source.keys[at + c];
      }
    }
  }
}

}  // namespace reference

}  // namespace seekrl::kernels
