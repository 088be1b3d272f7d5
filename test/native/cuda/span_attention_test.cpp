// Attention of packed texts and its gradients against f64, in trees of texts that begin alike.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "gpu.h"
#include "kernels/cuda/attention/span.h"
#include "packed_texts.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

// The inputs, packed as one product's result is: a token's queries, keys and values in a row.
template <class Number>
struct Numbers {
  Numbers(const Shape& shape, const Packing& packing)
      : query_size(shape.num_heads * shape.head_dim), key_size(shape.num_kv_heads * shape.head_dim) {
    rows = normals<Number>(packing.num_tokens * stride(), 1);
    out_grad = normals<Number>(packing.num_tokens * query_size, 2);
  }
  int64_t stride() const { return query_size + 2 * key_size; }
  std::vector<double> part(int64_t first, int64_t size, const std::vector<Number>& of) const {
    std::vector<double> values;
    for (size_t row = 0; row < of.size() / stride(); ++row) {
      for (int64_t i = 0; i < size; ++i) values.push_back(value(of[row * stride() + first + i]));
    }
    return values;
  }
  std::vector<double> query(const std::vector<Number>& of) const { return part(0, query_size, of); }
  std::vector<double> key(const std::vector<Number>& of) const { return part(query_size, key_size, of); }
  std::vector<double> values(const std::vector<Number>& of) const { return part(query_size + key_size, key_size, of); }

  AttentionInputs inputs() const { return {query(rows), key(rows), values(rows), doubles(out_grad)}; }

  int64_t query_size, key_size;
  std::vector<Number> rows, out_grad;
};

double error_of(const std::vector<double>& actual, const std::vector<double>& expected) {
  return relative_error(std::vector<float>(actual.begin(), actual.end()), expected);
}

template <class Number>
struct Result {
  Result(const Shape& shape, const Packing& packing, const Numbers<Number>& numbers)
      : out(poison<Number>(packing.num_tokens * numbers.query_size)),
        grads(poison<Number>(packing.num_tokens * numbers.stride())),
        log_sum(poison<float>(packing.num_tokens * shape.num_heads)) {}

  std::vector<Number> out, grads;
  std::vector<float> log_sum;
};

template <class Number>
SpanAttention call_of(Result<Number>& result, const Shape& shape, const Packing& packing,
                      const Numbers<Number>& numbers) {
  const Number* const rows = numbers.rows.data();
  return {.query_THC = {rows, numbers.stride()},
          .key_TKC = {rows + numbers.query_size, numbers.stride()},
          .value_TKC = {rows + numbers.query_size + numbers.key_size, numbers.stride()},
          .out_THC = result.out.data(),
          .log_sum_HT = shape.is_causal ? result.log_sum.data() : nullptr,
          .tiles = packing.tiles.data(),
          .num_tiles = std::ssize(packing.tiles),
          .path = packing.path.data(),
          .path_start_S = packing.path_start.data(),
          .position_T = packing.position.data(),
          .num_tokens = packing.num_tokens,
          .num_heads = shape.num_heads,
          .num_kv_heads = shape.num_kv_heads,
          .head_dim = shape.head_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim)),
          .softcap = shape.softcap,
          .window = shape.window,
          .dtype = kDtype<Number>,
          .is_causal = shape.is_causal};
}

template <class Number>
Result<Number> run(const Shape& shape, const Packing& packing, const Numbers<Number>& numbers) {
  Result<Number> result(shape, packing, numbers);
  const SpanAttention call = call_of(result, shape, packing, numbers);
  EXPECT(span_attention(call, nullptr) == nullptr);
  std::vector<float> scratch = poison<float>(packing.num_tokens * shape.num_heads);
  Number* const grads = result.grads.data();
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

template <class Number = Bf16>
void check_shape(const Shape& shape) {
  const Packing packing(shape);
  const Numbers<Number> numbers(shape, packing);
  const Truth truth = truth_of(shape, packing, numbers.inputs());
  // Probabilities and gradients of scores are rounded too.
  const double tolerance = std::is_same_v<Number, Bf16> ? 4e-3 : 5e-4;
  std::vector<Number> first;
  with_each_order([&] {
    const Result<Number> result = run(shape, packing, numbers);
    EXPECT(error_of(doubles(result.out), truth.out) < tolerance);
    EXPECT(error_of(numbers.query(result.grads), truth.query) < 2 * tolerance);
    EXPECT(error_of(numbers.key(result.grads), truth.key) < 2 * tolerance);
    EXPECT(error_of(numbers.values(result.grads), truth.value) < 2 * tolerance);
    if (first.empty()) first = result.grads;
    for (size_t i = 0; i < first.size(); ++i) EXPECT(first[i].bits == result.grads[i].bits);
  });
}

// Of texts whose tokens see what follows too: no log-sums, no gradients.
void check_whole_texts(int64_t num_heads, int64_t head_dim, const std::vector<int64_t>& lengths) {
  const Shape shape{.num_heads = num_heads,
                    .num_kv_heads = num_heads,
                    .head_dim = head_dim,
                    .lengths = lengths,
                    .parents = std::vector<int64_t>(lengths.size(), -1),
                    .is_causal = false};
  const Packing packing(shape);
  const Numbers<Bf16> numbers(shape, packing);
  const Truth truth = truth_of(shape, packing, numbers.inputs());
  with_each_order([&] {
    Result<Bf16> result(shape, packing, numbers);
    SpanAttention call = call_of(result, shape, packing, numbers);
    EXPECT(span_attention(call, nullptr) == nullptr);
    EXPECT(error_of(doubles(result.out), truth.out) < 4e-3);
    call.window = 7;
    EXPECT(span_attention(call, nullptr) != nullptr);
  });
}

}  // namespace

TEST("attention of packed texts and its gradients are those of f64, whatever the order of threads") {
  // Heads of 64 and 256 have tiles of different sizes; others have the barriers of one of them.
  check_shape({2, 1, 64, {70, 1, 66}, {-1, -1, -1}});
  check_shape({2, 1, 256, {50}, {-1}});
  if (kIsRaceTest) return;
  check_shape({4, 2, 64, {70, 1, 130}, {-1, -1, -1}});
  check_shape({3, 1, 80, {20, 33}, {-1, -1}});
  check_shape({2, 2, 96, {65}, {-1}});
  check_shape({7, 1, 128, {40, 64}, {-1, -1}});
  check_shape({2, 1, 32, {66}, {-1}});
}

TEST("attention of packed texts in f16 and its gradients are nearer to f64 than in bf16") {
  if (kIsRaceTest) return;  // the barriers are the same
  for (const int64_t width : {32, 64, 80, 96, 128, 256}) check_shape<F16>({2, 1, width, {34}, {-1}});
}

TEST("texts that begin alike stand in a tree, whose shared tokens get the gradients of all") {
  // A prompt, two answers, and two ends of the first answer.
  if (kIsRaceTest) return check_shape({2, 1, 64, {70, 20, 5}, {-1, 0, 1}});
  check_shape({4, 2, 64, {70, 40, 75, 5, 90}, {-1, 0, 0, 1, 1}});
}

TEST("windows and soft caps hold in attention of packed texts and its gradients") {
  if (kIsRaceTest) return check_shape({1, 1, 64, {130, 10}, {-1, 0}, 37, 0});
  check_shape({2, 1, 64, {150, 60, 30}, {-1, 0, -1}, 37, 0});
  check_shape({2, 1, 64, {80, 30}, {-1, 0}, 0, 3});
}

TEST("every token of a text attends over all of it, and over no other text") {
  if (kIsRaceTest) return check_whole_texts(1, 32, {1, 70});
  check_whole_texts(3, 32, {1, 70, 17});
  check_whole_texts(2, 64, {65, 130, 3});
  check_whole_texts(1, 80, {33});
}

TEST("a text has the same bits alone and in a tree") {
  if (kIsRaceTest) return;
  const Shape tree{2, 1, 64, {70, 40, 75}, {-1, 0, 0}}, text{2, 1, 64, {70, 75}, {-1, 0}};
  const Packing in_tree(tree), alone(text);
  const Numbers<Bf16> many(tree, in_tree);
  Numbers<Bf16> one(text, alone);
  for (int64_t t = 0; t < alone.num_tokens; ++t) {
    const int64_t from = t < 70 ? t : t + 40;
    std::copy_n(many.rows.begin() + from * many.stride(), many.stride(), one.rows.begin() + t * one.stride());
  }
  const Result<Bf16> of_many = run(tree, in_tree, many), of_one = run(text, alone, one);
  for (int64_t i = 0; i < 75 * one.query_size; ++i) {
    EXPECT(of_many.out[110 * many.query_size + i].bits == of_one.out[70 * one.query_size + i].bits);
  }
}
