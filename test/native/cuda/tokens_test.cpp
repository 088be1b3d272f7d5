// Embeddings, their gradient and angles against sums and the C library in f64.
#include "kernels/cuda/layer/tokens.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

constexpr int64_t kVocabulary = 37;

std::vector<int32_t> some_ids(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < count; ++t) ids.push_back(static_cast<int32_t>(t * t % 7 == 0 ? 5 : t * 11 % kVocabulary));
  return ids;
}

template <class Number>
void check_embed(int64_t num_tokens, int64_t width) {
  const std::vector<int32_t> ids = some_ids(num_tokens);
  const auto weight = normals<Number>(kVocabulary * width, 1);
  std::vector<float> out(static_cast<size_t>(num_tokens * width), NAN);
  EXPECT(embed({out.data(), ids.data(), weight.data(), num_tokens, width, 3.5f, kDtype<Number>}, nullptr) == nullptr);
  for (int64_t i = 0; i < num_tokens * width; ++i) {
    EXPECT(out[i] == 3.5f * to_float(weight[ids[i / width] * width + i % width]));
  }
}

}  // namespace

TEST("a token's row of the embedding, times the scale") {
  with_each_order([] {
    check_embed<Bf16>(5, 8);
    check_embed<F16>(3, 1288);
  });
}

TEST("a token's gradient is the sum over its places, in their order, and no other's changes") {
  with_each_order([] {
    const int64_t num_tokens = 300, width = 16;
    const std::vector<int32_t> ids = some_ids(num_tokens);
    const auto grad = normals<float>(num_tokens * width, 2);
    std::vector<float> sums = normals<float>(kVocabulary * width, 3), expected = sums;
    for (int64_t i = 0; i < num_tokens * width; ++i) expected[ids[i / width] * width + i % width] += 2.0f * grad[i];
    EXPECT(embed_gradient({sums.data(), ids.data(), grad.data(), num_tokens, width, 2.0f}, nullptr) == nullptr);
    EXPECT(sums == expected);
  });
}

TEST("gradients of a token with a thousand places and of rare ones are those of f64, in every order of threads") {
  // More places of one bucket than are listed at once; more columns than a block has.
  const int64_t num_tokens = 2100, width = kIsRaceTest ? 8 : 1032, vocabulary = 1100;
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < num_tokens; ++t) {
    ids.push_back(static_cast<int32_t>(t % 4 != 0 ? 517 : t % 5 == 0 ? 5 : t * 7919 % vocabulary));
  }
  const auto grad = normals<float>(num_tokens * width, 2);
  const std::vector<float> before = normals<float>(vocabulary * width, 3);
  std::vector<double> truth = doubles(before), most(truth.size()), num_places(truth.size());
  for (size_t i = 0; i < truth.size(); ++i) most[i] = std::fabs(truth[i]);
  for (int64_t i = 0; i < num_tokens * width; ++i) {
    const int64_t at = ids[i / width] * width + i % width;
    truth[at] += 0.3f * double{grad[i]};
    most[at] += 0.3f * std::fabs(double{grad[i]});
    ++num_places[at];
  }
  std::vector<float> first;
  with_each_order([&] {
    std::vector<float> sums = before;
    EXPECT(embed_gradient({sums.data(), ids.data(), grad.data(), num_tokens, width, 0.3f}, nullptr) == nullptr);
    // A place rounds its term and the sum, by no more than half a last place of all terms' sizes together.
    bool is_near = true;
    for (size_t i = 0; i < sums.size(); ++i) {
      is_near &= std::fabs(sums[i] - truth[i]) <= 2 * num_places[i] * most[i] * 0x1p-24;
    }
    EXPECT(is_near);
    if (first.empty()) first = sums;
    EXPECT(sums == first);
  });
}

TEST("angles of all positions are those of the C library, rounded to f32") {
  const std::vector<int32_t> positions = {0, 1, 2, 3, 1000, 4095, 32767, 131071, 1000003};
  const std::vector<float> frequencies = {1.0f, 0.7498942f, 0.1f, 0.00031622776f, 1e-6f};
  const int64_t count = std::ssize(positions) * std::ssize(frequencies);
  std::vector<float> cos(count, NAN), sin(count, NAN);
  EXPECT(rotary_angles({cos.data(), sin.data(), positions.data(), frequencies.data(), std::ssize(positions),
                        std::ssize(frequencies), 1.25},
                       nullptr) == nullptr);
  for (int64_t i = 0; i < count; ++i) {
    const float angle = static_cast<float>(positions[i / 5]) * frequencies[i % 5];
    EXPECT(cos[i] == static_cast<float>(std::cos(static_cast<double>(angle)) * 1.25));
    EXPECT(sin[i] == static_cast<float>(std::sin(static_cast<double>(angle)) * 1.25));
  }
}
