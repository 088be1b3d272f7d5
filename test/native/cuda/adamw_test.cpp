// AdamW on the GPU has the reference's bits in every form of weights and moments.
#include "kernels/cuda/train/adamw.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;
using kernels::AdamWSlice;
using kernels::kMomentBlock;

namespace {

enum class Weights { kFloat, kHalvesAndLow, kHalves };

// A parameter's memory; two of the same arguments are the same.
struct Parameter {
  Parameter(int64_t n, Weights form, bool has_8_bits, uint64_t stream)
      : weights(normals<float>(n, stream)), gradients(normals<float>(n, stream + 1, 0.01f)) {
    for (const float each : weights) {
      const uint32_t bits = bits_of(each);
      halves.push_back(static_cast<uint16_t>((bits + 0x8000) >> 16));
      low.push_back(static_cast<int16_t>(bits));
    }
    const auto num_blocks = static_cast<size_t>((n + kMomentBlock - 1) / kMomentBlock);
    for (Kept* moment : {&first, &second}) {
      moment->values = normals<float>(n, stream + 2, 1e-4f);
      moment->codes.assign(n, 0);
      moment->scales.assign(num_blocks, 0);
    }
    for (float& each : second.values) each = std::fabs(each);
    slice.n = n;
    slice.gradients = gradients.data();
    if (form == Weights::kFloat) slice.weights = weights.data();
    if (form != Weights::kFloat) slice.halves = halves.data();
    if (form == Weights::kHalvesAndLow) slice.low = low.data();
    slice.first = first.moment(has_8_bits);
    slice.second = second.moment(has_8_bits);
    slice.seed = 11;
    slice.stream = stream;
  }

  struct Kept {
    std::vector<float> values, scales;
    std::vector<uint8_t> codes;
    kernels::Moment moment(bool has_8_bits) {
      return has_8_bits ? kernels::Moment{nullptr, codes.data(), scales.data()}
                        : kernels::Moment{values.data(), nullptr, nullptr};
    }
    bool operator==(const Kept& other) const = default;
  };

  bool operator==(const Parameter& other) const {
    return weights == other.weights && gradients == other.gradients && halves == other.halves && low == other.low &&
           first == other.first && second == other.second;
  }

  std::vector<float> weights, gradients;
  std::vector<uint16_t> halves;
  std::vector<int16_t> low;
  Kept first, second;
  AdamWSlice slice;
};

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  all.reserve(6);  // slices point into them
  uint64_t stream = 1;
  for (const Weights form : {Weights::kFloat, Weights::kHalvesAndLow, Weights::kHalves}) {
    for (const bool has_8_bits : {false, true}) {
      all.emplace_back(300 + 100 * (stream % 3), form, has_8_bits, stream);
      stream += 10;
    }
  }
  return all;
}

kernels::AdamWStep step_of(int t) {
  kernels::AdamWStep step;
  step.kept = 1 - 1e-3f * 0.1f;
  step.first_weight = 0.1f;
  step.beta2 = 0.999f;
  step.second_weight = 1 - 0.999f;
  step.root_divisor = std::sqrt(1 - std::pow(0.999f, static_cast<float>(t)));
  step.epsilon = 1e-8f;
  step.minus_rate = -1e-3f / (1 - std::pow(0.9f, static_cast<float>(t)));
  step.gradient_divisor = 1.7f;
  return step;
}

struct Slices {
  explicit Slices(std::vector<Parameter>& of) {
    for (Parameter& each : of) {
      slices.push_back(each.slice);
      first_block.push_back(first_block.back() + (each.slice.n + kMomentBlock - 1) / kMomentBlock);
    }
  }
  AdamWCall call(const kernels::AdamWStep& step) const {
    return {slices.data(),
            first_block.data(),
            static_cast<int64_t>(slices.size()),
            first_block.back(),
            &kernels::signed_map(),
            &kernels::unsigned_map(),
            step,
            nullptr,
            0};
  }
  std::vector<AdamWSlice> slices;
  std::vector<int64_t> first_block = {0};
};

}  // namespace

TEST("AdamW on the GPU has the reference's bits in every form of weights and moments") {
  with_each_order([] {
    std::vector<Parameter> actual = parameters(), expected = parameters();
    const Slices slices(actual);
    for (int t = 1; t <= 3; ++t) {
      EXPECT(adamw(slices.call(step_of(t)), nullptr) == nullptr);
      for (Parameter& each : expected) kernels::reference::adamw(each.slice, step_of(t));
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT(actual[i] == expected[i]);
        const std::vector<float> next = normals<float>(actual[i].slice.n, 100 + t, 0.01f);
        for (Parameter* each : {&actual[i], &expected[i]}) std::copy(next.begin(), next.end(), each->gradients.begin());
      }
    }
  });
}

TEST("8-bit moments that are not finite have the reference's codes on the GPU") {
  std::vector<Parameter> actual = parameters(), expected = parameters();
  const Slices slices(actual);
  for (int t = 1; t <= 3; ++t) {
    for (std::vector<Parameter>* all : {&actual, &expected}) {
      for (Parameter& each : *all) std::fill_n(each.gradients.begin() + 10, 200, 1e30f);
    }
    EXPECT(adamw(slices.call(step_of(t)), nullptr) == nullptr);
    for (Parameter& each : expected) kernels::reference::adamw(each.slice, step_of(t));
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT(actual[i].first.codes == expected[i].first.codes && actual[i].second.codes == expected[i].second.codes);
  }
}

TEST("gradients longer than the norm that is allowed are clipped on the GPU, by the norm of all") {
  std::vector<Parameter> actual = parameters(), expected = parameters();
  double truth = 0;
  for (const Parameter& each : expected) {
    for (const float g : each.gradients) truth += double{g} * g;
  }
  const Slices slices(actual);
  double sum = NAN;
  std::vector<double> scratch(kSquareGroups, NAN);
  EXPECT(squared_norm(&sum, scratch.data(), slices.slices.data(), slices.first_block.data(), 6,
                      slices.first_block.back(), nullptr) == nullptr);
  EXPECT_NEAR(sum / truth, 1, 1e-12);
  AdamWCall call = slices.call(step_of(1));
  call.squared_norm = &sum;
  call.max_norm = 0.01f;
  EXPECT(adamw(call, nullptr) == nullptr);
  kernels::AdamWStep clipped = step_of(1);
  clipped.gradient_divisor *= static_cast<float>(std::sqrt(sum)) / clipped.gradient_divisor / 0.01f;
  for (Parameter& each : expected) kernels::reference::adamw(each.slice, clipped);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT(actual[i] == expected[i]);
}
