// Attention of packed texts and its gradients against f64, in trees of texts that begin alike.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "card.h"
#include "kernels/cuda/attention/span.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

struct Shape {
  int64_t num_heads, num_kv_heads, head_dim;
  std::vector<int64_t> lengths, parents;  // of spans
  int64_t window = 0;
  float softcap = 0;
};

// What the kernels are told of the spans.
struct Packing {
  explicit Packing(const Shape& shape) {
    std::vector<std::vector<int32_t>> seen, seeing;
    for (size_t s = 0; s < shape.lengths.size(); ++s) {
      const int64_t parent = shape.parents[s];
      std::vector<int32_t> tokens = parent < 0 ? std::vector<int32_t>{} : seen[parent];
      seeing.emplace_back();
      for (int64_t first = 0; first < shape.lengths[s]; first += kSpanTileRows) {
        tiles.push_back({static_cast<int32_t>(s), static_cast<int32_t>(num_tokens + first),
                         static_cast<int32_t>(std::min<int64_t>(kSpanTileRows, shape.lengths[s] - first))});
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
  // The tokens that a token sees, but for the window.
  std::vector<int32_t> keys_of(int64_t token) const {
    const auto first = path.begin() + path_start[span[token]];
    return {first, first + position[token] + 1};
  }

  int64_t num_tokens = 0;
  std::vector<SpanTile> tiles;
  std::vector<int32_t> path, path_start = {0}, viewers, viewers_start = {0}, position;
  std::vector<int64_t> span;
};

struct Truth {
  std::vector<double> out, query, key, value;
};

// All in f64, token by token.
Truth truth_of(const Shape& shape, const Packing& packing, const std::vector<double>& q, const std::vector<double>& k,
               const std::vector<double>& v, const std::vector<double>& out_grad) {
  const int64_t width = shape.head_dim, group = shape.num_heads / shape.num_kv_heads;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  Truth truth{std::vector<double>(q.size()), std::vector<double>(q.size()), std::vector<double>(k.size()),
              std::vector<double>(k.size())};
  for (int64_t t = 0; t < packing.num_tokens; ++t) {
    std::vector<int32_t> keys = packing.keys_of(t);
    if (shape.window > 0 && std::ssize(keys) > shape.window) keys.erase(keys.begin(), keys.end() - shape.window);
    for (int64_t head = 0; head < shape.num_heads; ++head) {
      const int64_t row = (t * shape.num_heads + head) * width;
      const auto key_row = [&](int32_t j) { return (j * shape.num_kv_heads + head / group) * width; };
      std::vector<double> weight, slope;
      double sum = 0, product = 0;
      for (const int32_t j : keys) {
        double s = 0;
        for (int64_t c = 0; c < width; ++c) s += q[row + c] * k[key_row(j) + c] * scale;
        const double t1 = shape.softcap > 0 ? std::tanh(s / shape.softcap) : 0;
        slope.push_back(1 - t1 * t1);
        weight.push_back(std::exp(shape.softcap > 0 ? shape.softcap * t1 : s));
        sum += weight.back();
      }
      for (size_t i = 0; i < keys.size(); ++i) {
        for (int64_t c = 0; c < width; ++c) truth.out[row + c] += weight[i] / sum * v[key_row(keys[i]) + c];
      }
      for (int64_t c = 0; c < width; ++c) product += out_grad[row + c] * truth.out[row + c];
      for (size_t i = 0; i < keys.size(); ++i) {
        const int64_t at = key_row(keys[i]);
        double with_value = 0;
        for (int64_t c = 0; c < width; ++c) with_value += out_grad[row + c] * v[at + c];
        const double g = weight[i] / sum * (with_value - product) * slope[i] * scale;
        for (int64_t c = 0; c < width; ++c) {
          truth.query[row + c] += g * k[at + c];
          truth.key[at + c] += g * q[row + c];
          truth.value[at + c] += weight[i] / sum * out_grad[row + c];
        }
      }
    }
  }
  return truth;
}

// The inputs, packed as one product's result is: a token's queries, keys and values in a row.
struct Numbers {
  Numbers(const Shape& shape, const Packing& packing)
      : query_size(shape.num_heads * shape.head_dim), key_size(shape.num_kv_heads * shape.head_dim) {
    rows = normals<Bf16>(packing.num_tokens * stride(), 1);
    out_grad = normals<Bf16>(packing.num_tokens * query_size, 2);
  }
  int64_t stride() const { return query_size + 2 * key_size; }
  std::vector<double> part(int64_t first, int64_t size, const std::vector<Bf16>& of) const {
    std::vector<double> values;
    for (size_t row = 0; row < of.size() / stride(); ++row) {
      for (int64_t i = 0; i < size; ++i) values.push_back(value(of[row * stride() + first + i]));
    }
    return values;
  }
  std::vector<double> query(const std::vector<Bf16>& of) const { return part(0, query_size, of); }
  std::vector<double> key(const std::vector<Bf16>& of) const { return part(query_size, key_size, of); }
  std::vector<double> values(const std::vector<Bf16>& of) const { return part(query_size + key_size, key_size, of); }

  int64_t query_size, key_size;
  std::vector<Bf16> rows, out_grad;
};

double error_of(const std::vector<double>& actual, const std::vector<double>& expected) {
  return relative_error(std::vector<float>(actual.begin(), actual.end()), expected);
}

struct Result {
  std::vector<Bf16> out, grads;
  std::vector<float> log_sum;
};

Result run(const Shape& shape, const Packing& packing, const Numbers& numbers) {
  const int64_t count = packing.num_tokens, width = shape.head_dim, stride = numbers.stride();
  Result result{poison<Bf16>(count * numbers.query_size), poison<Bf16>(count * stride),
                poison<float>(count * shape.num_heads)};
  std::vector<float> scratch = poison<float>(count * shape.num_heads);
  const Bf16* const rows = numbers.rows.data();
  const SpanAttention call{.query_THC = {rows, stride},
                           .key_TKC = {rows + numbers.query_size, stride},
                           .value_TKC = {rows + numbers.query_size + numbers.key_size, stride},
                           .out_THC = result.out.data(),
                           .log_sum_HT = result.log_sum.data(),
                           .tiles = packing.tiles.data(),
                           .num_tiles = std::ssize(packing.tiles),
                           .path = packing.path.data(),
                           .path_start_S = packing.path_start.data(),
                           .position_T = packing.position.data(),
                           .num_tokens = count,
                           .num_heads = shape.num_heads,
                           .num_kv_heads = shape.num_kv_heads,
                           .head_dim = width,
                           .scale = 1.0f / std::sqrt(static_cast<float>(width)),
                           .softcap = shape.softcap,
                           .window = shape.window,
                           .dtype = Dtype::kBf16};
  EXPECT(span_attention(call, nullptr) == nullptr);
  Bf16* const grads = result.grads.data();
  EXPECT(span_attention_gradient({.of = call,
                                  .out_grad_THC = numbers.out_grad.data(),
                                  .query_grad_THC = grads,
                                  .key_grad_TKC = grads + numbers.query_size,
                                  .value_grad_TKC = grads + numbers.query_size + numbers.key_size,
                                  .scratch_HT = scratch.data(),
                                  .viewers = packing.viewers.data(),
                                  .viewers_start_S = packing.viewers_start.data()},
                                 nullptr) == nullptr);
  return result;
}

void check_shape(const Shape& shape) {
  const Packing packing(shape);
  const Numbers numbers(shape, packing);
  const Truth truth = truth_of(shape, packing, numbers.query(numbers.rows), numbers.key(numbers.rows),
                               numbers.values(numbers.rows), doubles(numbers.out_grad));
  std::vector<Bf16> first;
  with_each_order([&] {
    const Result result = run(shape, packing, numbers);
    EXPECT(error_of(doubles(result.out), truth.out) < 4e-3);
    EXPECT(error_of(numbers.query(result.grads), truth.query) < 8e-3);
    EXPECT(error_of(numbers.key(result.grads), truth.key) < 8e-3);
    EXPECT(error_of(numbers.values(result.grads), truth.value) < 8e-3);
    if (first.empty()) first = result.grads;
    for (size_t i = 0; i < first.size(); ++i) EXPECT(first[i].bits == result.grads[i].bits);
  });
}

}  // namespace

TEST("attention of packed texts and its gradients are those of f64, whatever the order of threads") {
  check_shape({4, 2, 64, {70, 1, 130}, {-1, -1, -1}});
  check_shape({3, 1, 80, {20, 33}, {-1, -1}});
  check_shape({2, 2, 96, {65}, {-1}});
  check_shape({7, 1, 128, {40, 64}, {-1, -1}});
  check_shape({2, 1, 256, {50}, {-1}});
  check_shape({2, 1, 32, {66}, {-1}});
}

TEST("texts that begin alike stand in a tree, whose shared tokens get the gradients of all") {
  // A prompt, two answers, and two ends of the first answer.
  check_shape({4, 2, 64, {70, 40, 75, 5, 90}, {-1, 0, 0, 1, 1}});
}

TEST("windows and soft caps hold in attention of packed texts and its gradients") {
  check_shape({2, 1, 64, {150, 60, 30}, {-1, 0, -1}, 37, 0});
  check_shape({2, 1, 64, {80, 30}, {-1, 0}, 0, 3});
}

TEST("a text has the same bits alone and in a tree") {
  const Shape tree{2, 1, 64, {70, 40, 75}, {-1, 0, 0}}, text{2, 1, 64, {70, 75}, {-1, 0}};
  const Packing in_tree(tree), alone(text);
  const Numbers many(tree, in_tree);
  Numbers one(text, alone);
  for (int64_t t = 0; t < alone.num_tokens; ++t) {
    const int64_t from = t < 70 ? t : t + 40;
    std::copy_n(many.rows.begin() + from * many.stride(), many.stride(), one.rows.begin() + t * one.stride());
  }
  const Result of_many = run(tree, in_tree, many), of_one = run(text, alone, one);
  for (int64_t i = 0; i < 75 * one.query_size; ++i) {
    EXPECT(of_many.out[110 * many.query_size + i].bits == of_one.out[70 * one.query_size + i].bits);
  }
}
