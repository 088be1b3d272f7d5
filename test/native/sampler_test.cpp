// The sampler against plain definitions in double, over a sorted row.
#include "engine/sampling/sampler.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "each_isa.h"
#include "engine/sampling/bound.h"
#include "kernels/isa.h"
#include "kernels/sampling.h"

using namespace seekrl;
using namespace seekrl::engine;
using test::with_each_isa;

namespace {

using Floats = std::vector<float>;

Floats random_row(int64_t size, uint64_t stream, double spread) {
  Floats values(size);
  for (int64_t i = 0; i < size; ++i) values[i] = static_cast<float>(spread * normal_pair(3, stream, i).first);
  return values;
}

Floats weights_of(const Floats& logits, float inverse_temperature = 1) {
  Floats weights(logits.size());
  kernels::row_weights(weights.data(), logits.data(), std::ssize(logits), inverse_temperature);
  return weights;
}

// How many of the sorted weights the definitions of top-k, top-p and min-p keep. What lies within rounding of top-p's
// share may go either way: `fewest` is without it.
struct Kept {
  int64_t fewest, most;
};

Kept plainly_kept(const Floats& weights, const SamplingOptions& options) {
  Floats sorted = weights;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  auto end = sorted.end();
  const auto with_equals = [&](auto last) { return std::upper_bound(last, end, *last, std::greater<>()); };
  if (options.top_k > 0 && options.top_k < std::ssize(sorted)) end = with_equals(sorted.begin() + options.top_k - 1);
  const double total = std::accumulate(sorted.begin(), end, 0.0);
  const auto share = [&](double mass) {
    double sum = 0;
    auto it = sorted.begin();
    while (it + 1 != end && (sum += *it) < mass) ++it;
    return with_equals(it);
  };
  auto fewest = end, most = end;
  if (options.top_p < 1) {
    fewest = share((options.top_p - 1e-6) * total);
    most = share((options.top_p + 1e-6) * total);
  }
  const auto within_min_p = [&](auto it) {
    return std::min<int64_t>(it - sorted.begin(), std::count_if(sorted.begin(), sorted.end(), [&](float weight) {
                               return weight >= static_cast<float>(options.min_p * sorted[0]);
                             }));
  };
  return {within_min_p(fewest), within_min_p(most)};
}

SamplingOptions limits(int64_t top_k, double top_p, double min_p) {
  SamplingOptions options;
  options.top_k = top_k;
  options.top_p = top_p;
  options.min_p = min_p;
  return options;
}

Sample sample_one(const Floats& logits, const SampleRequest& request) {
  return sample(at::from_blob(const_cast<float*>(logits.data()), {1, std::ssize(logits)}), {request})[0];
}

// Which tokens a thousand draws give.
std::vector<int64_t> drawn(const Floats& logits, SampleRequest request) {
  std::vector<int64_t> tokens;
  for (request.seed = 0; request.seed < 1000; ++request.seed) tokens.push_back(sample_one(logits, request).token);
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

constexpr float kNone = -std::numeric_limits<float>::infinity();

}  // namespace

TEST("weights, their sums and their parts have the same bits on every instruction set") {
  for (const int64_t size : {1, 15, 16, 17, 1023, 1024, 1025, 5000}) {
    const Floats logits = random_row(size, 1, 3);
    Floats weights(size), sums(size / 1024 + 1), kept(size + 16);
    const auto stats = kernels::reference::row_weights(weights.data(), logits.data(), size, 0.8f);
    kernels::reference::kept_sums(sums.data(), weights.data(), size, 0.1f);
    const int64_t num_kept = kernels::reference::keep_between(kept.data(), weights.data(), size, 0.01f, 0.5f);
    with_each_isa([&] {
      Floats again(size), sums_again(sums.size()), kept_again(size + 16);
      const auto found = kernels::row_weights(again.data(), logits.data(), size, 0.8f);
      const auto plain = kernels::row_stats(logits.data(), size, 0.8f);
      EXPECT(std::memcmp(&found, &stats, sizeof(stats)) == 0 && std::memcmp(&found, &plain, sizeof(stats)) == 0);
      EXPECT(again == weights);
      kernels::kept_sums(sums_again.data(), again.data(), size, 0.1f);
      EXPECT(sums_again == sums);
      EXPECT(kernels::keep_between(kept_again.data(), again.data(), size, 0.01f, 0.5f) == num_kept);
      EXPECT(std::equal(kept.begin(), kept.begin() + num_kept, kept_again.begin()));
      EXPECT(kernels::keep_between(again.data(), again.data(), size, 0.01f, 0.5f) == num_kept);
      EXPECT(std::equal(kept.begin(), kept.begin() + num_kept, again.begin()));
    });
  }
}

TEST("the bound keeps what sorting the row would, for every limit and shape of the distribution") {
  for (const int64_t size : {1, 2, 17, 1000, 50000}) {
    for (const double spread : {0.0, 0.001, 1.0, 8.0}) {
      const Floats weights = weights_of(random_row(size, 2, spread), 1.3f);
      for (const int64_t top_k : {0, 1, 5, 400}) {
        for (const double top_p : {1.0, 0.999, 0.95, 0.3, 0.0}) {
          for (const double min_p : {0.0, 0.02, 1.0}) {
            const SamplingOptions options = limits(top_k, top_p, min_p);
            const float bound = least_kept(weights.data(), size, options);
            const auto num_kept = std::count_if(weights.begin(), weights.end(), [&](float w) { return w >= bound; });
            const Kept expected = plainly_kept(weights, options);
            EXPECT(num_kept >= expected.fewest && num_kept <= expected.most && num_kept > 0);
          }
        }
      }
    }
  }
}

TEST("the bound is the same on every instruction set") {
  const Floats weights = weights_of(random_row(20000, 5, 2));
  const SamplingOptions options = limits(5000, 0.9, 0.001);
  const float expected = least_kept(weights.data(), 20000, options);
  with_each_isa([&] { EXPECT(least_kept(weights.data(), 20000, options) == expected); });
}

TEST("tokens of equal weight are kept or left together") {
  const Floats logits = {1, 0, 1, 0, 1};
  const SamplingOptions two = limits(2, 1, 0), half = limits(0, 0.5, 0), none = limits(0, 0, 0);
  for (const SamplingOptions* options : {&two, &half, &none}) {
    EXPECT((drawn(logits, {options}) == std::vector<int64_t>{0, 2, 4}));
  }
}

TEST("temperature 0 takes the first of the likeliest tokens, whatever the limits") {
  SamplingOptions options = limits(1, 0.1, 0.5);
  options.temperature = 0;
  const Floats logits = {0, 3, -1, 3};
  EXPECT((drawn(logits, {&options}) == std::vector<int64_t>{1}));
  EXPECT_NEAR(sample_one(logits, {&options}).logprob, 3 - std::log(1 + 2 * std::exp(3.0) + std::exp(-1.0)), 1e-6);
}

TEST("a draw depends on its own row, seed and position, not on its neighbours") {
  const int64_t v = 3000;
  const Floats rows = random_row(5 * v, 9, 2);
  SamplingOptions options = limits(0, 0.9, 0);
  const std::vector<int64_t> before(7, 1);
  std::vector<SampleRequest> requests(5, SampleRequest{&options, 4, before, 7});
  const auto together = sample(at::from_blob(const_cast<float*>(rows.data()), {5, v}), requests);
  for (int64_t r = 0; r < 5; ++r) {
    const Sample alone = sample_one(Floats(rows.begin() + r * v, rows.begin() + (r + 1) * v), requests[r]);
    EXPECT(alone.token == together[r].token && alone.logprob == together[r].logprob);
  }
}

TEST("penalties, bias and bad words change the logits as their formulas say") {
  const Floats logits = {2, -1, 0.5f, 1, 3, 0};
  SamplingOptions options;
  options.temperature = 0;
  // 4 was said before the span and 0 twice within it.
  const std::vector<int64_t> tokens = {4, 0, 0};
  const auto greedy = [&] { return sample_one(logits, {&options, 0, tokens, 1}).token; };
  EXPECT(greedy() == 4);
  options.repetition_penalty = 4;  // 3 / 4, 2 / 4 against 1
  EXPECT(greedy() == 3);
  options.repetition_penalty = 1;
  options.presence_penalty = 2;  // only what the span said: 2 - 2
  EXPECT(greedy() == 4);
  options.logit_bias = {{4, -100.0f}};
  EXPECT(greedy() == 3);
  options.presence_penalty = 0.4;
  EXPECT(greedy() == 0);  // 2 - 0.4
  options.frequency_penalty = 0.4;
  EXPECT(greedy() == 3);  // 2 - 2 * 0.4 - 0.4 = 0.8
  options.bad_words = {{3}};
  EXPECT(greedy() == 0);
  options.bad_words = {{3}, {0, 0, 0}, {1, 2}};
  EXPECT(greedy() == 2);
  options.bad_words.push_back({0, 2});
  EXPECT(greedy() == 5);
}

TEST("a negative logit is multiplied by the repetition penalty, once however often its token was said") {
  SamplingOptions options;
  options.temperature = 0;
  options.repetition_penalty = 2;
  const std::vector<int64_t> tokens = {0, 0, 0, 1, 1};
  EXPECT(sample_one({-1, 4, -2.1f}, {&options, 0, tokens, 5}).token == 1);  // -2, 2, -2.1
  EXPECT(sample_one({-1, -1, -2.1f}, {&options, 0, tokens, 5}).token == 0);
  EXPECT(sample_one({-1, -1, -1.9f}, {&options, 0, tokens, 5}).token == 2);
}

TEST("a mask leaves only its tokens, and none at all is told of") {
  const Floats logits = random_row(70, 6, 2);
  const std::vector<int32_t> mask = {1 << 3, 0, 1 << 4 | 1 << 9}, nothing = {0, 0, 0};
  const SamplingOptions options;
  SampleRequest request{&options};
  request.mask = mask.data();
  EXPECT((drawn(logits, request) == std::vector<int64_t>{3, 68}));
  request.mask = nothing.data();
  EXPECT(sample_one(logits, request).token == -1);
  EXPECT(std::isnan(sample_one(Floats(70, kNone), request).logprob));
}

TEST("the log-probability and the entropy are the policy's, whatever edits and limits the draw had") {
  const Floats logits = random_row(200, 8, 2);
  SamplingOptions plain, all = limits(3, 0.5, 0.1);
  plain.temperature = all.temperature = 0.7;
  all.repetition_penalty = 1.5;
  all.logit_bias = {{11, 20.0f}};
  const std::vector<int64_t> tokens = {1, 2, 3};
  SampleRequest request{&all, 5, tokens, 1};
  request.wants_entropy = true;
  const Sample drawn_with_all = sample_one(logits, request);
  EXPECT(drawn_with_all.token == 11);
  const auto stats = kernels::row_stats(logits.data(), 200, static_cast<float>(1 / 0.7));
  EXPECT(drawn_with_all.logprob == kernels::logprob(stats, logits[11], static_cast<float>(1 / 0.7)));
  EXPECT(drawn_with_all.entropy == kernels::row_stats(logits.data(), 200, 1).entropy);
}

TEST("the most likely tokens are those of a sorted row, with the bits that drawn ones have") {
  SamplingOptions options;
  for (const double temperature : {1.0, 0.6, 0.0}) {
    for (const int64_t size : {20, 1500}) {
      Floats logits = random_row(size, 77, 3);
      logits[3] = logits[7] = logits[11] = 20;
      options.temperature = temperature;
      const auto inverse = static_cast<float>(temperature == 0 ? 1 : 1 / temperature);
      const auto stats = kernels::row_stats(logits.data(), size, inverse);
      std::vector<int32_t> sorted(size);
      std::iota(sorted.begin(), sorted.end(), 0);
      std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
      const Sample drawn = sample_one(logits, {.options = &options, .num_top = 20});
      EXPECT(std::ssize(drawn.top) == 20);
      for (int64_t i = 0; i < 20; ++i) {
        EXPECT(drawn.top[i].token == sorted[i]);
        EXPECT(drawn.top[i].logprob == kernels::logprob(stats, logits[sorted[i]], inverse));
      }
      EXPECT(sample_one(logits, {.options = &options}).top.empty());
    }
  }
}
