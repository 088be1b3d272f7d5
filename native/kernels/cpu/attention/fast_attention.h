// Attention as matrix products over tiles of rows: scores for all keys of a tile, softmax, weighted values.
#pragma once

#include "kernels/attention.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/fast_rows.h"
#include "kernels/cpu/products/fast_matmul.h"

namespace seekrl::kernels::SEEKRL_ISA {

// Rows [first, first + count) of the call, in the order of (position, head).
struct RowTile {
  int64_t first = 0;
  int64_t count = 0;
  int64_t first_key = 0;   // that the first row, and so any, attends over
  int64_t least_keys = 0;  // of the first row
  int64_t most_keys = 0;   // of the last row
  int64_t stride = 0;      // floats between rows of scores
};

inline int64_t keys_of(const QueryRows& rows, int64_t row) {
  return rows.is_causal ? rows.num_keys + row / rows.num_heads : rows.num_keys;
}

inline int64_t offset_of(const QueryRows& rows, int64_t row) {
  return row / rows.num_heads * rows.position_stride + row % rows.num_heads * rows.head_stride;
}

inline RowTile row_tile(const QueryRows& rows, const ScoreRule& rule, int64_t first, int64_t max_keys,
                        int64_t matrices) {
  const int64_t left = rows.num_positions * rows.num_heads - first;
  const int64_t reach = keys_of(rows, first) + kMostRows;
  const int64_t fitting = tile_rows(reach < max_keys ? reach : max_keys, matrices);
  RowTile tile;
  tile.first = first;
  tile.count = left < fitting ? left : fitting;
  tile.least_keys = keys_of(rows, first);
  tile.first_key = first_key(rule, tile.least_keys);
  tile.most_keys = keys_of(rows, first + tile.count - 1);
  tile.stride = round_up_to_panel(tile.most_keys);
  return tile;
}

// Copies the tile's vectors of C floats from `from` (laid out like the queries), times `scale`, to rows of C floats.
inline void gather_rows(float* to, const float* from, const QueryRows& rows, const RowTile& tile, int64_t head_dim,
                        float scale) {
  for (int64_t r = 0; r < tile.count; ++r) {
    const float* row = from + offset_of(rows, tile.first + r);
    for (int64_t c = 0; c < head_dim; c += kLanes) {
      const int64_t count = head_dim - c < kLanes ? head_dim - c : kLanes;
      store_first(to + r * head_dim + c, load_first(row + c, count) * broadcast(scale), count);
    }
  }
}

inline int64_t token_offset(const KeyValues& source, int64_t token) {
  if (source.block_table == nullptr) return token * source.token_stride;
  const int64_t block = source.block_table[token / source.block_tokens];
  return block * source.block_stride + (token % source.block_tokens) * source.token_stride;
}

// The vectors of tokens [first, first + count), count <= 64, as columns of `panel`.
inline void pack_tokens(float* panel, const float* base, const KeyValues& source, int64_t first, int64_t count,
                        int64_t head_dim) {
  for (int64_t column = 0; column < count; column += kLanes) {
    const int64_t lanes = count - column < kLanes ? count - column : kLanes;
    const float* rows[kLanes];
    for (int64_t r = 0; r < lanes; ++r) rows[r] = base + token_offset(source, first + column + r);
    transpose_rows(panel + column, kPanelColumns, rows, lanes, head_dim);
  }
}

// scores[r][j] = x_r . base_j for every key j that row r may see; what stands elsewhere is not to be read.
inline void dot_products(float* scores, const float* x, const float* base, const QueryRows& rows,
                         const KeyValues& source, const RowTile& tile, int64_t head_dim, float* panel) {
  for (int64_t first = tile.first_key / kPanelColumns * kPanelColumns; first < tile.most_keys; first += kPanelColumns) {
    const int64_t count = tile.most_keys - first < kPanelColumns ? tile.most_keys - first : kPanelColumns;
    int64_t row = 0;
    while (keys_of(rows, tile.first + row) <= first) ++row;
    pack_tokens(panel, base, source, first, count, head_dim);
    const int64_t columns = (count + kLanes - 1) / kLanes * kLanes;
    multiply(scores + row * tile.stride + first, tile.stride, nullptr, 0, {x + row * head_dim, head_dim, 1}, panel,
             kPanelColumns, tile.count - row, columns, head_dim);
  }
}

// The same for keys that lie by channel, which are panels already.
inline void dot_products_by_channel(float* scores, const float* x, const QueryRows& rows, const KeyValues& source,
                                    const RowTile& tile, int64_t head_dim) {
  const int64_t size = source.block_tokens;
  for (int64_t first = tile.first_key / size * size; first < tile.most_keys; first += size) {
    const int64_t left = tile.most_keys - first;
    const int64_t count = left < size ? left : size;
    int64_t row = 0;
    while (keys_of(rows, tile.first + row) <= first) ++row;
    const float* block = source.keys + source.block_table[first / size] * source.block_stride;
    multiply(scores + row * tile.stride + first, tile.stride, nullptr, 0, {x + row * head_dim, head_dim, 1}, block,
             size, tile.count - row, count, head_dim);
  }
}

// y_r += sum over tokens j in [first, end) in order of weights[r][j] base_j, for `count` rows.
inline void add_weighted(float* y, const float* weights, int64_t stride, const float* base, const KeyValues& source,
                         int64_t first, int64_t end, int64_t count, int64_t head_dim) {
  while (first < end) {
    int64_t run = end - first;
    if (source.block_table != nullptr) {
      const int64_t in_block = source.block_tokens - first % source.block_tokens;
      run = run < in_block ? run : in_block;
    }
    multiply(y, head_dim, y, head_dim, {weights + first, stride, 1}, base + token_offset(source, first),
             source.token_stride, count, head_dim, run);
    first += run;
  }
}

// The weighted sums of a whole tile: the keys before any row's last together, then each position's own. The weights of
// keys before a row's first are zero, which leaves its sum as it is.
inline void weighted_sums(float* y, const float* weights, const float* base, const QueryRows& rows,
                          const KeyValues& source, const RowTile& tile, int64_t head_dim) {
  for (int64_t i = 0; i < tile.count * head_dim; ++i) y[i] = 0;
  add_weighted(y, weights, tile.stride, base, source, tile.first_key, tile.least_keys, tile.count, head_dim);
  for (int64_t row = 0; row < tile.count;) {
    const int64_t keys = keys_of(rows, tile.first + row);
    int64_t end = row + 1;
    while (end < tile.count && keys_of(rows, tile.first + end) == keys) ++end;
    add_weighted(y + row * head_dim, weights + row * tile.stride, tile.stride, base, source, tile.least_keys, keys,
                 end - row, head_dim);
    row = end;
  }
}

inline void zero(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 0;
}

// Replaces n scores by exp(score - max); returns their sum and maximum.
struct SoftmaxSums {
  float max, sum;
};

inline SoftmaxSums exponentials(float* scores, int64_t n) {
  Lanes largest = broadcast(scores[0]);
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) largest = max(largest, load(scores + j));
  float top = max_lanes(largest);
  for (; j < n; ++j) top = scores[j] > top ? scores[j] : top;
  Lanes sums = zeros();
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i < kLanes ? n - i : kLanes;
    const Lanes e = keep_first(exp_lanes(load_first(scores + i, count) - broadcast(top)), count);
    store_first(scores + i, e, count);
    sums = sums + e;
  }
  return {top, sum_lanes(sums)};
}

// Copies rows of C floats, `stride` apart and each divided, to where the tile's vectors are in `to`.
inline void scatter_rows(float* to, const float* from, int64_t stride, const float* divisors, const QueryRows& rows,
                         const RowTile& tile, int64_t head_dim) {
  for (int64_t r = 0; r < tile.count; ++r) {
    float* row = to + offset_of(rows, tile.first + r);
    for (int64_t c = 0; c < head_dim; c += kLanes) {
      const int64_t count = head_dim - c < kLanes ? head_dim - c : kLanes;
      store_first(row + c, load_first(from + r * stride + c, count) / broadcast(divisors[r]), count);
    }
  }
}

inline void attend(const QueryRows& rows, const KeyValues& source, int64_t head_dim, const ScoreRule& rule,
                   float* log_sum_exp, float* scratch) {
  const int64_t num_rows = rows.num_positions * rows.num_heads, max_keys = keys_of(rows, num_rows - 1);
  float* panel = scratch;
  float* query = panel + kPanelColumns * head_dim;
  float* mixed = query + kMostRows * head_dim;
  float* scores = mixed + kMostRows * head_dim;
  for (int64_t first = 0; first < num_rows;) {
    const RowTile tile = row_tile(rows, rule, first, max_keys, 1);
    gather_rows(query, rows.query, rows, tile, head_dim, rule.scale);
    if (source.keys_by_channel) {
      dot_products_by_channel(scores, query, rows, source, tile, head_dim);
    } else {
      dot_products(scores, query, source.keys, rows, source, tile, head_dim, panel);
    }
    float sums[kMostRows];
    for (int64_t r = 0; r < tile.count; ++r) {
      const int64_t keys = keys_of(rows, first + r), from = first_key(rule, keys);
      float* row = scores + r * tile.stride;
      if (rule.softcap > 0) softcap(row + from, keys - from, rule.softcap);
      const SoftmaxSums softmax = exponentials(row + from, keys - from);
      zero(row + tile.first_key, from - tile.first_key);
      sums[r] = softmax.sum;
      if (log_sum_exp != nullptr) log_sum_exp[first + r] = softmax.max + __builtin_logf(softmax.sum);
    }
    weighted_sums(mixed, scores, source.values, rows, source, tile, head_dim);
    scatter_rows(rows.out, mixed, head_dim, sums, rows, tile, head_dim);
    first += tile.count;
  }
}

// Turns one row's scores, capped already, into probabilities and its products into score gradients; zero beyond its
// keys and, from the tile's first key on, before them.
inline void softmax_backward(float* scores, float* products, int64_t keys, const RowTile& tile, const ScoreRule& rule,
                             float log_sum_exp, float shared) {
  const int64_t from = first_key(rule, keys);
  const Lanes inverse_cap = broadcast(rule.softcap > 0 ? 1.0f / rule.softcap : 0.0f);
  for (int64_t j = from / kLanes * kLanes; j < tile.stride; j += kLanes) {
    const int64_t count = keys - j < 0 ? 0 : keys - j < kLanes ? keys - j : kLanes;
    const Lanes score = load(scores + j), capped = score * inverse_cap;
    const Lanes p = keep_first(exp_lanes(score - broadcast(log_sum_exp)), count);
    const Lanes slope = fma(-capped, capped, broadcast(1.0f));
    store(scores + j, p);
    store(products + j, keep_first(p * (load(products + j) - broadcast(shared)) * slope, count));
  }
  zero(scores + tile.first_key, from - tile.first_key);
  zero(products + tile.first_key, from - tile.first_key);
}

inline float row_product(const float* x, const float* y, int64_t size) {
  Lanes sums = zeros();
  for (int64_t c = 0; c < size; c += kLanes) {
    const int64_t count = size - c < kLanes ? size - c : kLanes;
    sums = fma(load_first(x + c, count), load_first(y + c, count), sums);
  }
  return sum_lanes(sums);
}

inline void attend_backward(const QueryRows& rows, const KeyValues& source, const AttentionGradients& gradients,
                            int64_t head_dim, const ScoreRule& rule, float* scratch) {
  const int64_t num_rows = rows.num_positions * rows.num_heads, max_keys = keys_of(rows, num_rows - 1);
  float* panel = scratch;
  float* query = panel + kPanelColumns * head_dim;
  float* out_grad = query + kMostRows * head_dim;
  float* query_grad = out_grad + kMostRows * head_dim;
  float* scores = query_grad + kMostRows * head_dim;
  for (int64_t first = 0; first < num_rows;) {
    const RowTile tile = row_tile(rows, rule, first, max_keys, 2);
    float* products = scores + tile.count * tile.stride;
    gather_rows(query, rows.query, rows, tile, head_dim, rule.scale);
    gather_rows(out_grad, gradients.out_grad, rows, tile, head_dim, 1.0f);
    dot_products(scores, query, source.keys, rows, source, tile, head_dim, panel);
    dot_products(products, out_grad, source.values, rows, source, tile, head_dim, panel);
    for (int64_t r = 0; r < tile.count; ++r) {
      const float* out = rows.out + offset_of(rows, first + r);
      const int64_t keys = keys_of(rows, first + r), from = first_key(rule, keys);
      if (rule.softcap > 0) softcap(scores + r * tile.stride + from, keys - from, rule.softcap);
      softmax_backward(scores + r * tile.stride, products + r * tile.stride, keys, tile, rule,
                       gradients.log_sum_exp[first + r], row_product(out_grad + r * head_dim, out, head_dim));
    }
    weighted_sums(query_grad, products, source.keys, rows, source, tile, head_dim);
    float divisors[kMostRows];
    for (float& divisor : divisors) divisor = 1.0f / rule.scale;
    scatter_rows(gradients.query_grad, query_grad, head_dim, divisors, rows, tile, head_dim);
    const int64_t to = tile.first_key * source.token_stride, num_keys = tile.most_keys - tile.first_key;
    multiply(gradients.key_grad + to, source.token_stride, gradients.key_grad + to, source.token_stride,
             {products + tile.first_key, 1, tile.stride}, query, head_dim, num_keys, head_dim, tile.count);
    multiply(gradients.value_grad + to, source.token_stride, gradients.value_grad + to, source.token_stride,
             {scores + tile.first_key, 1, tile.stride}, out_grad, head_dim, num_keys, head_dim, tile.count);
    first += tile.count;
  }
}

}  // namespace seekrl::kernels::SEEKRL_ISA
