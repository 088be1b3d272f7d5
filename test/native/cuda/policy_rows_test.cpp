// The losses' sums against f64, their gradients against differences away from the kinks.
#include "kernels/cuda/train/policy_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

using Doubles = std::vector<double>;

// Of differences: few rows lie so near a kink.
constexpr double kStep = 1e-6;

// Inputs of a loss, log ratios of all sizes among them, with sequences of 1, 0, 40, 0 and more rows.
struct Inputs {
  explicit Inputs(int64_t count)
      : logprob(normals<float>(count, 1)),
        entropy(normals<float>(count, 2)),
        weights(normals<float>(count, 3, 0.1f)),
        advantages(normals<float>(count, 4)),
        old(normals<float>(count, 5, 0.6f)),
        reference(normals<float>(count, 6)),
        rollout(normals<float>(count, 7, 0.01f)),
        sequences(count) {
    for (int64_t r = 0; r < count; ++r) sequences[r] = r < 1 ? 0 : r < 41 ? 2 : r < 300 ? 4 : 5;
    for (float& each : weights) each = std::fabs(each);
    for (int64_t r = 0; r < count; ++r) {
      old[r] += logprob[r];
      rollout[r] += logprob[r];
      reference[r] += logprob[r];
    }
    old[7] = logprob[7] + 23;
    reference[9] = logprob[9] + 3;  // e^3 - 4 is more than 10
  }

  std::vector<float> logprob, entropy, weights, advantages, old, reference, rollout;
  std::vector<int64_t> sequences;
};

Doubles log_ratios(const Inputs& in, const Doubles& logprob, Objective objective) {
  Doubles ratios;
  for (size_t r = 0; r < logprob.size(); ++r) ratios.push_back(logprob[r] - in.old[r]);
  if (objective != Objective::kClippedSequence) return ratios;
  Doubles sums(ratios.size()), counts(ratios.size());
  for (size_t r = 0; r < ratios.size(); ++r) {
    sums[in.sequences[r]] += ratios[r];
    counts[in.sequences[r]] += 1;
  }
  for (size_t r = 0; r < ratios.size(); ++r) ratios[r] = sums[in.sequences[r]] / counts[in.sequences[r]];
  return ratios;
}

double kl_of(KlEstimator estimator, double d) {
  const double held = std::clamp(d, -20.0, 20.0);
  switch (estimator) {
    case KlEstimator::kNone: return 0;
    case KlEstimator::kK1: return -d;
    case KlEstimator::kK2: return 0.5 * d * d;
    case KlEstimator::kK3: return std::min(std::exp(held) - held - 1, 10.0);
    case KlEstimator::kAbs: return std::fabs(d);
  }
  return NAN;
}

double ratio_of(double log_ratio) { return std::exp(std::clamp(log_ratio, -20.0, 20.0)); }

double clipped(const Inputs& in, double log_ratio, const PolicyOptions& o, size_t r, LossStats& stats) {
  const double a = in.advantages[r], ratio = ratio_of(log_ratio);
  const double held = std::clamp(ratio, 1.0 - o.clip_low, 1.0 + o.clip_high);
  stats.num_clipped += -a * held > -a * ratio ? 1 : 0;
  const double loss = std::max(-a * ratio, -a * held);
  return o.clip_dual > 0 && a < 0 ? std::min(loss, -o.clip_dual * a) : loss;
}

// The weight is that of the unmoved log-probability: differences see none of it.
double clipped_weight(const Inputs& in, const Doubles& logprob, const PolicyOptions& o, size_t r, LossStats& stats) {
  const double ratio = ratio_of(double{in.logprob[r]} - in.old[r]);
  const double held = std::clamp(ratio, 1.0 - o.clip_low, 1.0 + o.clip_high);
  stats.num_clipped += held != ratio ? 1 : 0;
  return -in.advantages[r] * held * logprob[r];
}

double correction(const Inputs& in, const PolicyOptions& o, size_t r, LossStats& stats) {
  if (o.correction == Correction::kNone) return 1;
  const double ratio = ratio_of(double{in.old[r]} - in.rollout[r]);
  const bool is_inside = ratio >= o.correction_low && ratio <= o.correction_high;
  const double masked = is_inside ? ratio : 0;
  const double held = o.correction == Correction::kMask ? masked : std::min<double>(ratio, o.correction_high);
  stats.correction_ratio += ratio;
  stats.num_corrected += held != ratio ? 1 : 0;
  return held;
}

LossStats policy(const Inputs& in, const Doubles& logprob, const Doubles& entropy, const PolicyOptions& o) {
  LossStats stats{};
  const Doubles ratios = log_ratios(in, logprob, o.objective);
  for (size_t r = 0; r < logprob.size(); ++r) {
    double objective = -logprob[r];
    if (o.objective != Objective::kLikelihood) {
      objective = o.objective == Objective::kClippedWeight ? clipped_weight(in, logprob, o, r, stats)
                                                           : clipped(in, ratios[r], o, r, stats);
      stats.approx_kl -= ratios[r];
    }
    objective *= correction(in, o, r, stats);
    const double kl = kl_of(o.kl, in.reference[r] - logprob[r]), gap = std::fabs(logprob[r] - in.rollout[r]);
    stats.loss += in.weights[r] * (objective + o.kl_coef * kl - o.entropy_coef * entropy[r]);
    stats.policy += in.weights[r] * objective;
    stats.num_rows += 1;
    stats.entropy += entropy[r];
    stats.kl += kl;
    stats.gap += gap;
    stats.gap_max = std::max(stats.gap_max, gap);
  }
  return stats;
}

// Each objective with each estimator, other options by turns.
std::vector<PolicyOptions> all_options() {
  std::vector<PolicyOptions> all;
  for (const Objective objective :
       {Objective::kLikelihood, Objective::kClipped, Objective::kClippedSequence, Objective::kClippedWeight}) {
    for (const auto kl :
         {KlEstimator::kNone, KlEstimator::kK1, KlEstimator::kK2, KlEstimator::kK3, KlEstimator::kAbs}) {
      const size_t i = all.size();
      const Correction correction = std::array{Correction::kNone, Correction::kTruncate, Correction::kMask}[i % 3];
      all.push_back({.objective = objective,
                     .clip_low = i % 2 == 0 ? 0.2f : 0.1f,
                     .clip_high = 0.3f,
                     .clip_dual = i % 3 == 0 ? 0 : 1.5f,
                     .correction = correction,
                     .correction_low = 0.6f,
                     .correction_high = 1.4f,
                     .entropy_coef = i % 4 < 2 ? 0 : 0.02f,
                     .kl = kl,
                     .kl_coef = 0.3f});
    }
  }
  return all;
}

// Relative to the size of what was added.
void expect_close(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 2e-6 * std::max(1.0, std::fabs(expected)));
}

void check_policy(const Inputs& in, const PolicyOptions& options, int num_times = 1) {
  const auto count = static_cast<int64_t>(in.logprob.size());
  Doubles logprob = doubles(in.logprob);
  const Doubles entropy = doubles(in.entropy);
  const LossStats truth = policy(in, logprob, entropy, options);
  const Doubles logprob_truth = differences(logprob, [&] { return policy(in, logprob, entropy, options).loss; }, kStep);
  std::vector<float> logprob_grad = poison<float>(count), entropy_grad = poison<float>(count);
  LossStats stats{};
  const PolicyRows rows{logprob_grad.data(),  entropy_grad.data(), &stats,
                        in.logprob.data(),    in.entropy.data(),   in.weights.data(),
                        in.advantages.data(), in.old.data(),       in.reference.data(),
                        in.rollout.data(),    in.sequences.data(), count};
  for (int times = 1; times <= num_times; ++times) EXPECT(policy_rows(rows, options, nullptr) == nullptr);
  expect_close(stats.loss, num_times * truth.loss);
  expect_close(stats.policy, num_times * truth.policy);
  expect_close(stats.entropy, num_times * truth.entropy);
  expect_close(stats.kl, num_times * truth.kl);
  expect_close(stats.approx_kl, num_times * truth.approx_kl);
  expect_close(stats.correction_ratio, num_times * truth.correction_ratio);
  expect_close(stats.gap, num_times * truth.gap);
  expect_close(stats.gap_max, truth.gap_max);
  EXPECT(stats.num_rows == num_times * truth.num_rows && stats.num_clipped == num_times * truth.num_clipped);
  EXPECT(stats.num_corrected == num_times * truth.num_corrected);
  EXPECT(relative_error(logprob_grad, logprob_truth) < 1e-5);
  for (int64_t r = 0; r < count; ++r) EXPECT_NEAR(entropy_grad[r], -in.weights[r] * options.entropy_coef, 1e-9);
}

// Rows of which nothing but what the policy says of them and their advantages is known.
struct Bare {
  explicit Bare(const Inputs& in)
      : logprob_grad(poison<float>(in.logprob.size())), entropy_grad(poison<float>(in.logprob.size())) {
    rows.logprob_grad_R = logprob_grad.data();
    rows.entropy_grad_R = entropy_grad.data();
    rows.stats = &stats;
    rows.logprob_R = in.logprob.data();
    rows.entropy_R = in.entropy.data();
    rows.weights_R = in.weights.data();
    rows.advantages_R = in.advantages.data();
    rows.num_rows = static_cast<int64_t>(in.logprob.size());
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  std::vector<float> logprob_grad, entropy_grad;
  LossStats stats{};
  PolicyRows rows{};
};

}  // namespace

TEST("every objective's sums are those of f64, its gradients their differences") {
  const Inputs in(kIsRaceTest ? 60 : 700);
  for (const PolicyOptions& options : all_options()) with_each_order([&] { check_policy(in, options); });
}

TEST("sums of micro-batches add up on the GPU") { check_policy(Inputs(53), all_options()[8], 3); }

TEST("without old log-probabilities a row's ratio is 1 and its gradient minus its weighted advantage") {
  const Inputs in(53);
  Bare bare(in);
  PolicyOptions options{};
  options.objective = Objective::kClipped;
  options.clip_low = options.clip_high = 0.2f;
  bare.rows.advantages_R = nullptr;
  EXPECT(policy_rows(bare.rows, options, nullptr) != nullptr);
  bare.rows.advantages_R = in.advantages.data();
  EXPECT(policy_rows(bare.rows, options, nullptr) == nullptr);
  for (int64_t r = 0; r < 53; ++r) EXPECT(bare.logprob_grad[r] == in.weights[r] * -in.advantages[r]);
  EXPECT(bare.stats.num_clipped == 0 && bare.stats.gap == 0 && bare.stats.kl == 0);
}

TEST("a correction needs what the rollout told, and changes not a bit where that is what the trainer says") {
  const Inputs in(53);
  const auto gradient = [&](Correction correction, const float* rollout) {
    Bare bare(in);
    bare.rows.rollout_logprob_R = rollout;
    PolicyOptions options{};
    options.objective = Objective::kClipped;
    options.clip_low = options.clip_high = 0.2f;
    options.correction = correction;
    options.correction_low = 0.5f;
    options.correction_high = 2;
    const bool is_refused = policy_rows(bare.rows, options, nullptr) != nullptr;
    EXPECT(is_refused == (rollout == nullptr && correction != Correction::kNone));
    EXPECT(is_refused || bare.stats.num_corrected == 0);
    return bare.logprob_grad;
  };
  const std::vector<float> plain = gradient(Correction::kNone, nullptr);
  for (const Correction correction : {Correction::kTruncate, Correction::kMask}) {
    EXPECT(gradient(correction, in.logprob.data()) == plain);
    gradient(correction, nullptr);
  }
}

TEST("the critic's sums are those of f64, its gradient their differences, clipped or not") {
  const int64_t count = 700;
  const auto values = normals<float>(count, 1), weights = normals<float>(count, 2), returns = normals<float>(count, 3);
  const auto old = normals<float>(count, 4);
  for (const float clip : {0.0f, 0.5f}) {
    ValueStats truth{};
    Doubles x = doubles(values);
    const auto loss = [&] {
      truth = {};
      for (int64_t r = 0; r < count; ++r) {
        const double free = x[r] - returns[r];
        const double held = old[r] + std::clamp<double>(x[r] - old[r], -clip, clip) - returns[r];
        const bool is_clipped = clip > 0 && std::fabs(x[r] - old[r]) > clip && held * held > free * free;
        truth.loss += 0.5 * weights[r] * (is_clipped ? held * held : free * free);
        truth.num_clipped += is_clipped ? 1 : 0;
        truth.values += x[r];
      }
      return truth.loss;
    };
    const Doubles grad_truth = differences(x, loss, kStep);
    loss();
    with_each_order([&] {
      std::vector<float> grad = poison<float>(count);
      ValueStats stats{};
      EXPECT(value_rows({grad.data(), &stats, values.data(), weights.data(), returns.data(), old.data(), count}, clip,
                        nullptr) == nullptr);
      EXPECT(relative_error(grad, grad_truth) < 1e-5);
      expect_close(stats.loss, truth.loss);
      expect_close(stats.values, truth.values);
      EXPECT(stats.num_rows == count && stats.num_clipped == truth.num_clipped);
    });
  }
}
