// Sequences in blocks for tests of the kernels that attend over them, and what they should say in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/e4m3.h"

namespace seekrl::test {

using namespace seekrl::cuda;

constexpr int64_t kBlockTokens = 32;

// Sequences with random queries, keys and values; what no row may read is NaN.
struct PagedCase {
  int64_t num_heads, num_kv_heads, head_dim;
  std::vector<int64_t> num_tokens;     // of each sequence
  std::vector<int64_t> num_positions;  // at its end, that are attended for
  int64_t window = 0;
  float softcap = 0;
  Dtype dtype = Dtype::kBf16;
  bool is_coded = false;
};

template <class Number>
struct PagedData {
  explicit PagedData(const PagedCase& c) : the(c) {
    int64_t num_blocks = 3, num_rows = 0, longest = 0;
    for (size_t i = 0; i < c.num_tokens.size(); ++i) {
      num_blocks += blocks_of(i);
      num_rows += c.num_positions[i];
      longest = std::max(longest, blocks_of(i));
    }
    table_stride = longest;
    table.assign(c.num_tokens.size() * longest, -1'000'000);
    const Number nan = from_float<Number>(NAN);
    keys.assign(num_blocks * c.num_kv_heads * kBlockTokens * c.head_dim, nan);
    values = keys;
    query.resize(num_rows * c.num_heads * c.head_dim);
    out.assign(query.size(), nan);
    for (size_t i = 0; i < query.size(); ++i) query[i] = normal(1, i);
    int64_t next = num_blocks - 1;
    for (size_t i = 0; i < c.num_tokens.size(); ++i) {
      for (int64_t b = 0; b < blocks_of(i); ++b) table[i * longest + b] = static_cast<int32_t>(next--);
      for (int64_t t = 0; t < c.num_tokens[i]; ++t) put(i, t);
    }
    log_sums.assign(num_rows * c.num_heads, NAN);
    tiles = tiles_of(kTileRows);
    if (!c.is_coded) return;
    encode(keys, key_codes, key_scales);
    encode(values, value_codes, value_scales);
  }

  // Replaces numbers by what codes stand for.
  void encode(std::vector<Number>& numbers, std::vector<E4m3>& codes, std::vector<float>& scales) const {
    for (size_t first = 0; first < numbers.size(); first += the.head_dim) {
      const auto scale = static_cast<float>(std::ldexp(1, static_cast<int>(first % 5) - 8));
      scales.push_back(scale);
      for (size_t i = first; i < first + the.head_dim; ++i) {
        codes.push_back(from_float<E4m3>(static_cast<float>(value(numbers[i]) / scale)));
        numbers[i] = from_float<Number>(unpack_e4m3(codes.back().bits, 0) * scale);
      }
    }
  }

  int64_t blocks_of(size_t i) const { return (the.num_tokens[i] + kBlockTokens - 1) / kBlockTokens; }
  Number normal(uint64_t stream, uint64_t i) const {
    return from_float<Number>(static_cast<float>(normal_pair(7, stream, i).first));
  }
  int64_t place(size_t sequence, int64_t token, int64_t head) const {
    const int64_t block = table[sequence * table_stride + token / kBlockTokens];
    return ((block * the.num_kv_heads + head) * kBlockTokens + token % kBlockTokens) * the.head_dim;
  }
  // What stands behind a sequence's last token in its last block stays NaN: nobody has written it.
  void put(size_t sequence, int64_t token) {
    for (int64_t head = 0; head < the.num_kv_heads; ++head) {
      for (int64_t c = 0; c < the.head_dim; ++c) {
        const uint64_t i = ((sequence * 1000 + token) * the.num_kv_heads + head) * the.head_dim + c;
        const int64_t at = place(sequence, token, head) + c;
        keys[at] = normal(2, i);
        values[at] = normal(3, i);
      }
    }
  }
  // Of the rows of one sequence, cut anew every `chunk` positions.
  void add_tiles(std::vector<AttentionTile>& to, size_t sequence, int64_t first_row, int64_t rows,
                 int64_t chunk) const {
    const int64_t count = the.num_positions[sequence], most = rows / (the.num_heads / the.num_kv_heads);
    for (int64_t p = 0, next = 0; p < count; p = next) {
      next = std::min({p + most, count, (p / chunk + 1) * chunk});
      to.push_back({static_cast<int32_t>(sequence), static_cast<int32_t>(first_row + p), static_cast<int32_t>(next - p),
                    static_cast<int32_t>(the.num_tokens[sequence] - count + p + 1)});
    }
  }
  // Of all, or of sequences from `first` on.
  std::vector<AttentionTile> tiles_of(int64_t rows, int64_t chunk = INT32_MAX, size_t first = 0) const {
    std::vector<AttentionTile> all;
    int64_t row = 0;
    for (size_t i = 0; i < the.num_positions.size(); row += the.num_positions[i++]) {
      if (i >= first) add_tiles(all, i, row, rows, chunk);
    }
    return all;
  }

  // Sequence `sequence` begins with the blocks of the one before it, as far as `num_keys` goes.
  void share(size_t sequence, int64_t num_keys) {
    for (int64_t b = 0; b < num_keys / kBlockTokens; ++b) {
      table[sequence * table_stride + b] = table[(sequence - 1) * table_stride + b];
    }
  }

  int64_t num_rows() const { return static_cast<int64_t>(query.size()) / (the.num_heads * the.head_dim); }
  PagedAttention call(const std::vector<AttentionTile>& of) {
    const bool is_coded = !key_codes.empty();
    return {.out = out.data(),
            .query = query.data(),
            .keys = is_coded ? static_cast<const void*>(key_codes.data()) : keys.data(),
            .values = is_coded ? static_cast<const void*>(value_codes.data()) : values.data(),
            .tiles = of.data(),
            .block_table = table.data(),
            .scratch = nullptr,
            .num_tiles = std::ssize(of),
            .num_rows = num_rows(),
            .num_heads = the.num_heads,
            .num_kv_heads = the.num_kv_heads,
            .head_dim = the.head_dim,
            .table_stride = table_stride,
            .block_tokens = kBlockTokens,
            .max_keys = *std::max_element(the.num_tokens.begin(), the.num_tokens.end()),
            .scale = 1.0f / std::sqrt(static_cast<float>(the.head_dim)),
            .softcap = the.softcap,
            .window = the.window,
            .dtype = the.dtype,
            .key_scales = is_coded ? key_scales.data() : nullptr,
            .value_scales = is_coded ? value_scales.data() : nullptr,
            .log_sum_HT = log_sums.data(),
            .shared_tiles = shared_tiles.data(),
            .shared_keys_S = shared_keys.empty() ? nullptr : shared_keys.data(),
            .num_shared_tiles = static_cast<int64_t>(shared_tiles.size())};
  }

  // With end_row, of the tiles whose rows lie in [first_row, end_row) alone.
  Status run(int64_t first_row = 0, int64_t end_row = 0) {
    std::vector<AttentionTile> some;
    for (const AttentionTile& tile : tiles) {
      if (end_row == 0 || (tile.first_row >= first_row && tile.first_row < end_row)) some.push_back(tile);
    }
    PagedAttention paged = call(some);
    const int64_t num_here = end_row == 0 ? num_rows() : end_row - first_row;
    scratch.assign(paged_attention_scratch_floats(num_here, the.num_heads, the.head_dim, paged.max_keys), NAN);
    paged.scratch = scratch.data();
    paged.first_row = first_row;
    paged.end_row = end_row;
    return paged_attention(paged, nullptr);
  }

  // One row of one head in f64.
  std::vector<double> expected(size_t sequence, int64_t row, int64_t head, int64_t num_keys) const {
    const int64_t kv_head = head / (the.num_heads / the.num_kv_heads), width = the.head_dim;
    const int64_t first = the.window > 0 ? std::max<int64_t>(0, num_keys - the.window) : 0;
    std::vector<double> weights, result(width);
    double sum = 0;
    for (int64_t t = first; t < num_keys; ++t) {
      double score = 0;
      for (int64_t c = 0; c < width; ++c) {
        score += double{to_float(query[(row * the.num_heads + head) * width + c])} *
                 to_float(keys[place(sequence, t, kv_head) + c]);
      }
      score /= std::sqrt(static_cast<double>(width));
      if (the.softcap > 0) score = the.softcap * std::tanh(score / the.softcap);
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int64_t t = first; t < num_keys; ++t) {
      for (int64_t c = 0; c < width; ++c) {
        result[c] += weights[t - first] / sum * to_float(values[place(sequence, t, kv_head) + c]);
      }
    }
    return result;
  }

  // Of the root mean squares.
  double relative_error() const {
    double error = 0, size = 0;
    int64_t row = 0;
    for (size_t i = 0; i < the.num_tokens.size(); ++i) {
      for (int64_t p = 0; p < the.num_positions[i]; ++p, ++row) {
        for (int64_t head = 0; head < the.num_heads; ++head) {
          const std::vector<double> truth = expected(i, row, head, the.num_tokens[i] - the.num_positions[i] + p + 1);
          for (int64_t c = 0; c < the.head_dim; ++c) {
            const double difference = to_float(out[(row * the.num_heads + head) * the.head_dim + c]) - truth[c];
            error += difference * difference;
            size += truth[c] * truth[c];
          }
        }
      }
    }
    return std::sqrt(error / size);
  }

  const PagedCase the;
  std::vector<Number> query, keys, values, out;
  std::vector<int32_t> table;
  std::vector<AttentionTile> tiles, shared_tiles;
  std::vector<int32_t> shared_keys;
  std::vector<float> scratch, log_sums, key_scales, value_scales;
  std::vector<E4m3> key_codes, value_codes;
  int64_t table_stride = 0;
};

template <class Number>
bool has_same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Number x, Number y) { return x.bits == y.bits; });
}

}  // namespace seekrl::test
