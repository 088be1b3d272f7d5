// Packed texts, which may begin alike: what kernels are told of them, and attention over them in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cuda/attention/span.h"

namespace seekrl::test {

struct Shape {
  int64_t num_heads, num_kv_heads, head_dim;
  std::vector<int64_t> lengths, parents;  // of spans
  int64_t window = 0;
  float softcap = 0;
  bool is_causal = true;  // else a token sees all of its span's text
};

// What the kernels are told of the spans.
struct Packing {
  explicit Packing(const Shape& shape) {
    std::vector<std::vector<int32_t>> seen, seeing;
    for (size_t s = 0; s < shape.lengths.size(); ++s) {
      const int64_t parent = shape.parents[s];
      std::vector<int32_t> tokens = parent < 0 ? std::vector<int32_t>{} : seen[parent];
      seeing.emplace_back();
      for (int64_t first = 0; first < shape.lengths[s]; first += cuda::kSpanTileRows) {
        tiles.push_back({static_cast<int32_t>(s), static_cast<int32_t>(num_tokens + first),
                         static_cast<int32_t>(std::min<int64_t>(cuda::kSpanTileRows, shape.lengths[s] - first))});
      }
      for (int64_t i = 0; i < shape.lengths[s]; ++i, ++num_tokens) {
        position.push_back(static_cast<int32_t>(tokens.size()));
        tokens.push_back(static_cast<int32_t>(num_tokens));
        for (int64_t at = static_cast<int64_t>(s); at >= 0; at = shape.parents[at]) {
          seeing[at].push_back(static_cast<int32_t>(num_tokens));
        }
      }
      seen.push_back(tokens);
    }
    for (size_t s = 0; s < seen.size(); ++s) {
      path.insert(path.end(), seen[s].begin(), seen[s].end());
      path_start.push_back(static_cast<int32_t>(path.size()));
      viewers.insert(viewers.end(), seeing[s].begin(), seeing[s].end());
      viewers_start.push_back(static_cast<int32_t>(viewers.size()));
      for (int64_t i = 0; i < shape.lengths[s]; ++i) span.push_back(static_cast<int64_t>(s));
    }
  }
  // The tokens that a token sees.
  std::vector<int32_t> keys_of(const Shape& shape, int64_t token) const {
    const auto first = path.begin() + path_start[span[token]];
    const auto end = shape.is_causal ? first + position[token] + 1 : path.begin() + path_start[span[token] + 1];
    return {shape.window > 0 && end - first > shape.window ? end - shape.window : first, end};
  }

  int64_t num_tokens = 0;
  std::vector<cuda::SpanTile> tiles;
  std::vector<int32_t> path, path_start = {0}, viewers, viewers_start = {0}, position;
  std::vector<int64_t> span;
};

// Queries [T, H, C], keys and values [T, K, C], and the gradient of the result.
struct AttentionInputs {
  std::vector<double> query, key, value, out_grad;
};

// The result and its gradients, token by token.
struct Truth {
  std::vector<double> out, query, key, value;
};

// Adds what query head `head` of `token` gives.
inline void add_head(Truth& truth, const Shape& shape, const AttentionInputs& x, const std::vector<int32_t>& keys,
                     int64_t token, int64_t head) {
  const int64_t width = shape.head_dim, row = (token * shape.num_heads + head) * width;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const auto key_row = [&](int32_t key) {
    return (key * shape.num_kv_heads + head / (shape.num_heads / shape.num_kv_heads)) * width;
  };
  std::vector<double> weight, slope;
  double sum = 0, product = 0;
  for (const int32_t key : keys) {
    double s = 0;
    for (int64_t c = 0; c < width; ++c) s += x.query[row + c] * x.key[key_row(key) + c] * scale;
    const double t = shape.softcap > 0 ? std::tanh(s / shape.softcap) : 0;
    slope.push_back(1 - t * t);
    weight.push_back(std::exp(shape.softcap > 0 ? shape.softcap * t : s));
    sum += weight.back();
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    weight[i] /= sum;
    for (int64_t c = 0; c < width; ++c) truth.out[row + c] += weight[i] * x.value[key_row(keys[i]) + c];
  }
  for (int64_t c = 0; c < width; ++c) product += x.out_grad[row + c] * truth.out[row + c];
  for (size_t i = 0; i < keys.size(); ++i) {
    const int64_t at = key_row(keys[i]);
    double with_value = 0;
    for (int64_t c = 0; c < width; ++c) with_value += x.out_grad[row + c] * x.value[at + c];
    const double g = weight[i] * (with_value - product) * slope[i] * scale;
    for (int64_t c = 0; c < width; ++c) {
      truth.query[row + c] += g * x.key[at + c];
      truth.key[at + c] += g * x.query[row + c];
      truth.value[at + c] += weight[i] * x.out_grad[row + c];
    }
  }
}

inline Truth truth_of(const Shape& shape, const Packing& packing, const AttentionInputs& x) {
  Truth truth{std::vector<double>(x.query.size()), std::vector<double>(x.query.size()),
              std::vector<double>(x.key.size()), std::vector<double>(x.key.size())};
  for (int64_t token = 0; token < packing.num_tokens; ++token) {
    const std::vector<int32_t> keys = packing.keys_of(shape, token);
    for (int64_t head = 0; head < shape.num_heads; ++head) add_head(truth, shape, x, keys, token, head);
  }
  return truth;
}

}  // namespace seekrl::test
