// Attention over paired keys and values: both products by pairs, the softmax in f32 between them.
#pragma once

#include <cstring>
#include <limits>

#include "kernels/cpu/attention/fast_attention.h"
#include "kernels/cpu/products/fast_bf16.h"

namespace seekrl::kernels::SEEKRL_ISA {

// Tokens whose values stay in the first-level cache while all rows of a tile take them.
inline constexpr int64_t kValueTokens = 128;

// The queries of the tile, rounded, as rows of C values.
inline void round_queries(uint16_t* to, const QueryRows& rows, const RowTile& tile, int64_t head_dim) {
  for (int64_t r = 0; r < tile.count; ++r) {
    round_to_bf16(to + r * head_dim, rows.query + offset_of(rows, tile.first + r), head_dim);
  }
}

// scores = scale q . k for kRows rows and kVectors groups of 16 tokens, whose first pairs of channels are at `keys`.
template <int kRows, int kVectors>
inline void score_tile(float* scores, int64_t stride, const uint16_t* query, const uint16_t* const* keys,
                       int64_t key_stride, int64_t head_dim, float scale) {
  Lanes sums[kRows][kVectors];
  for (auto& row : sums) {
    for (Lanes& sum : row) sum = zeros();
  }
  for (int64_t c = 0; c < head_dim; c += 2) {
    Pairs columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = load_pairs(keys[v] + c / 2 * key_stride);
    for (int r = 0; r < kRows; ++r) {
      const Pairs factor = broadcast_pair(query + r * head_dim + c);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = add_products(sums[r][v], factor, columns[v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(scores + r * stride + v * kLanes, sums[r][v] * broadcast(scale));
  }
}

// Scores of kVectors groups of 16 tokens from `first` on, for the rows of the tile that reach them.
template <int kVectors>
inline void score_tokens(float* scores, const uint16_t* query, const QueryRows& rows, const PairedKeyValues& source,
                         const RowTile& tile, int64_t first, int64_t head_dim, float scale) {
  const uint16_t* keys[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const int64_t token = first + v * kLanes;
    keys[v] = source.keys + source.block_offset(token) + token % source.block_tokens * 2;
  }
  int64_t skipped = 0;
  while (keys_of(rows, tile.first + skipped) <= first) ++skipped;
  for_row_groups(tile.count - skipped, [&](int64_t group, auto count) {
    const int64_t row = skipped + group;
    score_tile<count, kVectors>(scores + row * tile.stride + first, tile.stride, query + row * head_dim, keys,
                                2 * source.block_tokens, head_dim, scale);
  });
}

// scores[r][j] of every token j that row r may see; what stands elsewhere is not to be read.
inline void score_tile_rows(float* scores, const uint16_t* query, const QueryRows& rows, const PairedKeyValues& source,
                            const RowTile& tile, int64_t head_dim, float scale) {
  int64_t first = tile.first_key / kLanes * kLanes;
  while (first < tile.most_keys) {
    if (first + (kBf16Vectors - 1) * kLanes < tile.most_keys) {
      score_tokens<kBf16Vectors>(scores, query, rows, source, tile, first, head_dim, scale);
      first += kBf16Vectors * kLanes;
    } else {
      score_tokens<1>(scores, query, rows, source, tile, first, head_dim, scale);
      first += kLanes;
    }
  }
}

// Replaces a row's scores of tokens [first, end) by exp(score - max), rounded: value j at the row's byte 2 j. Values of
// tokens [from, first) and [end, to) become zero. The sum is of the exponentials as they were.
inline SoftmaxSums rounded_exponentials(float* scores, int64_t first, int64_t end, int64_t from, int64_t to) {
  const int64_t low = first / kLanes * kLanes, high = (end + kLanes - 1) / kLanes * kLanes;
  for (int64_t j = low; j < first; ++j) scores[j] = -std::numeric_limits<float>::infinity();
  for (int64_t j = end; j < high; ++j) scores[j] = -std::numeric_limits<float>::infinity();
  Lanes largest = load(scores + low);
  for (int64_t j = low + kLanes; j < high; j += kLanes) largest = max(largest, load(scores + j));
  const float top = max_lanes(largest);
  auto* const weights = reinterpret_cast<uint16_t*>(scores);
  Lanes sums = zeros();
  for (int64_t j = low; j < high; j += kLanes) {
    const Lanes e = exp_lanes(load(scores + j) - broadcast(top));
    store_rounded(weights + j, e);
    sums = sums + e;
  }
  if (from < low) std::memset(weights + from, 0, static_cast<size_t>(low - from) * sizeof(uint16_t));
  if (high < to) std::memset(weights + high, 0, static_cast<size_t>(to - high) * sizeof(uint16_t));
  return {top, sum_lanes(sums)};
}

// Tokens [first, end), both even.
struct TokenRange {
  int64_t first, end;
};

// mixed += weights values for kRows rows and kVectors groups of 16 channels; the last one, unless whole, has `last`.
template <int kRows, int kVectors, bool kIsWhole>
inline void value_tile(float* mixed, int64_t width, const uint16_t* weights, int64_t stride, const uint16_t* values,
                       const PairedKeyValues& source, const TokenRange& tokens, int64_t head_dim, int64_t last) {
  Lanes sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = load(mixed + r * width + v * kLanes);
  }
  for (int64_t token = tokens.first; token < tokens.end;) {
    const int64_t place = token % source.block_tokens, in_block = source.block_tokens - place;
    const int64_t run = tokens.end - token < in_block ? tokens.end - token : in_block;
    const uint16_t* rows = values + source.block_offset(token) + place * head_dim;
    for (int64_t i = 0; i < run; i += 2, rows += 2 * head_dim) {
      Pairs columns[kVectors];
      for (int v = 0; v + 1 < kVectors; ++v) columns[v] = load_pairs(rows + v * kPairLanes);
      const uint16_t* const end = rows + (kVectors - 1) * kPairLanes;
      columns[kVectors - 1] = kIsWhole ? load_pairs(end) : load_first_pairs(end, last);
      for (int r = 0; r < kRows; ++r) {
        const Pairs factor = broadcast_pair(weights + r * stride + token + i);
        for (int v = 0; v < kVectors; ++v) sums[r][v] = add_products(sums[r][v], factor, columns[v]);
      }
    }
    token += run;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) store(mixed + r * width + v * kLanes, sums[r][v]);
  }
}

// kVectors groups of channels from `channel` on, for all rows of the tile that reach the tokens.
template <int kVectors, bool kIsWhole>
inline void mix_channels(float* mixed, int64_t width, const uint16_t* weights, const QueryRows& rows,
                         const PairedKeyValues& source, const RowTile& tile, const TokenRange& tokens, int64_t head_dim,
                         int64_t channel) {
  for_row_groups(tile.count, [&](int64_t row, auto count) {
    const int64_t reach = even(keys_of(rows, tile.first + row + count - 1));
    const TokenRange seen = {tokens.first, reach < tokens.end ? reach : tokens.end};
    if (seen.first >= seen.end) return;
    value_tile<count, kVectors, kIsWhole>(mixed + row * width + channel, width, weights + row * 2 * tile.stride,
                                          2 * tile.stride, source.values + 2 * channel, source, seen, head_dim,
                                          head_dim - channel);
  });
}

// mixed[r] = sum over the tile's tokens in order of weights[r][j] v_j, rows of `width` floats.
inline void mix_values(float* mixed, int64_t width, const uint16_t* weights, const QueryRows& rows,
                       const PairedKeyValues& source, const RowTile& tile, int64_t head_dim) {
  std::memset(mixed, 0, static_cast<size_t>(tile.count * width) * sizeof(float));
  const int64_t end = even(tile.most_keys);
  for (int64_t first = tile.first_key / 2 * 2; first < end;) {
    const int64_t next = (first / kValueTokens + 1) * kValueTokens;
    const TokenRange tokens = {first, next < end ? next : end};
    int64_t channel = 0;
    for (; channel + kBf16Vectors * kLanes <= head_dim; channel += kBf16Vectors * kLanes) {
      mix_channels<kBf16Vectors, true>(mixed, width, weights, rows, source, tile, tokens, head_dim, channel);
    }
    for (; channel + kLanes <= head_dim; channel += kLanes) {
      mix_channels<1, true>(mixed, width, weights, rows, source, tile, tokens, head_dim, channel);
    }
    if (channel < head_dim) {
      mix_channels<1, false>(mixed, width, weights, rows, source, tile, tokens, head_dim, channel);
    }
    first = tokens.end;
  }
}

// Both products by the processor's instruction for pairs.
struct PairProducts {
  static constexpr int64_t kTokens = 2;
  static constexpr auto scores = score_tile_rows;
  static constexpr auto mix = mix_values;
};

// The attention whose products are `Products`; mix reads weights in groups of kTokens, those out of reach as zeros.
template <class Products>
inline void attend_by(const QueryRows& rows, const PairedKeyValues& source, int64_t head_dim, const ScoreRule& rule,
                      float* log_sum_exp, float* scratch) {
  const int64_t num_rows = rows.num_positions * rows.num_heads, max_keys = keys_of(rows, num_rows - 1);
  const int64_t width = (head_dim + kLanes - 1) / kLanes * kLanes;
  float* mixed = scratch;
  auto* query = reinterpret_cast<uint16_t*>(mixed + kMostRows * width);
  float* scores = mixed + 2 * kMostRows * width;
  for (int64_t first = 0; first < num_rows;) {
    const RowTile tile = row_tile(rows, rule, first, max_keys, 1);
    const int64_t from = tile.first_key / Products::kTokens * Products::kTokens;
    const int64_t to = (tile.most_keys + Products::kTokens - 1) / Products::kTokens * Products::kTokens;
    round_queries(query, rows, tile, head_dim);
    Products::scores(scores, query, rows, source, tile, head_dim, rule.scale);
    float sums[kMostRows];
    for (int64_t r = 0; r < tile.count; ++r) {
      const int64_t keys = keys_of(rows, first + r), own = first_key(rule, keys);
      float* row = scores + r * tile.stride;
      if (rule.softcap > 0) softcap(row + own, keys - own, rule.softcap);
      const SoftmaxSums softmax = rounded_exponentials(row, own, keys, from, to);
      sums[r] = softmax.sum;
      if (log_sum_exp != nullptr) log_sum_exp[first + r] = softmax.max + __builtin_logf(softmax.sum);
    }
    Products::mix(mixed, width, reinterpret_cast<const uint16_t*>(scores), rows, source, tile, head_dim);
    scatter_rows(rows.out, mixed, width, sums, rows, tile, head_dim);
    first += tile.count;
  }
}

inline void attend_bf16(const QueryRows& rows, const PairedKeyValues& source, int64_t head_dim, const ScoreRule& rule,
                        float* log_sum_exp, float* scratch) {
  attend_by<PairProducts>(rows, source, head_dim, rule, log_sum_exp, scratch);
}

}  // namespace seekrl::kernels::SEEKRL_ISA
