// One block has all rows: a few thousand of 36 bytes are less than the launch of a second kernel costs.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/train/policy_rows.h"

namespace seekrl::cuda {

namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;
// exp of more than this says nothing and overflows soon after.
constexpr float kMaxLogRatio = 20, kMaxKl = 10;

// Adds up the threads' sums; of the last one, if it is a maximum, the largest. The same order each time.
template <int kCount, bool kLastIsMax>
__device__ __forceinline__ void add_stats(double* to, const double (&sums)[kCount], double* parts) {
  const auto warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    double value = sums[i];
    for (int distance = 16; distance > 0; distance /= 2) {
      const double other = __shfl_xor_sync(~0u, value, distance);
      value = kLastIsMax && i == kCount - 1 ? fmax(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0) parts[i * kWarps + warp] = value;
  }
  __syncthreads();
  const auto i = static_cast<int>(threadIdx.x);
  if (i >= kCount) return;
  const bool is_max = kLastIsMax && i == kCount - 1;
  double all = to[i];
  for (int w = 0; w < kWarps; ++w) {
    const double part = parts[i * kWarps + w];
    all = is_max ? fmax(all, part) : all + part;
  }
  to[i] = all;
}

// A number of a row and its derivative.
struct Term {
  float value, slope;
};

enum Stat {
  kLoss,
  kPolicy,
  kNumRows,
  kEntropy,
  kKl,
  kApproxKl,
  kNumClipped,
  kRatio,
  kNumCorrected,
  kGap,
  kGapMax,
  kNumStats
};
static_assert(sizeof(LossStats) == kNumStats * sizeof(double));

__device__ __forceinline__ float ratio_of(float log_ratio) {
  return expf(fminf(fmaxf(log_ratio, -kMaxLogRatio), kMaxLogRatio));
}

// By the log-probability.
__device__ __forceinline__ Term clipped_weight(const PolicyOptions& options, float advantage, float log_ratio,
                                               float logprob, bool& is_clipped) {
  const float ratio = ratio_of(log_ratio);
  const float held = fminf(fmaxf(ratio, 1.0f - options.clip_low), 1.0f + options.clip_high);
  is_clipped = held != ratio;
  return {-advantage * held * logprob, -advantage * held};
}

// By the log ratio.
__device__ __forceinline__ Term clipped_objective(const PolicyOptions& options, float advantage, float log_ratio,
                                                  bool& is_clipped) {
  const float ratio = ratio_of(log_ratio);
  const float held_ratio = fminf(fmaxf(ratio, 1.0f - options.clip_low), 1.0f + options.clip_high);
  const float free = -advantage * ratio, held = -advantage * held_ratio;
  is_clipped = held > free;
  Term term{is_clipped ? held : free, is_clipped || fabsf(log_ratio) > kMaxLogRatio ? 0.0f : free};
  const float bound = -options.clip_dual * advantage;
  if (options.clip_dual > 0 && advantage < 0 && term.value > bound) term = {bound, 0};
  return term;
}

// By the log-probability.
__device__ __forceinline__ Term kl_term(KlEstimator estimator, float distance) {
  if (estimator == KlEstimator::kK1) return {-distance, 1};
  if (estimator == KlEstimator::kK2) return {0.5f * distance * distance, -distance};
  if (estimator == KlEstimator::kAbs) {
    return {fabsf(distance), distance > 0 ? -1.0f : distance < 0 ? 1.0f : 0.0f};
  }
  const float held = fminf(fmaxf(distance, -kMaxLogRatio), kMaxLogRatio);
  const float grown = expm1f(held), value = grown - held;
  return {fminf(value, kMaxKl), value > kMaxKl || held != distance ? 0.0f : -grown};
}

__device__ __forceinline__ float log_ratio_of(const PolicyRows& rows, int64_t r) {
  return rows.old_logprob_R == nullptr ? 0.0f : rows.logprob_R[r] - rows.old_logprob_R[r];
}

__device__ __forceinline__ float correction_of(const PolicyRows& rows, const PolicyOptions& options, int64_t r,
                                               double (&sums)[kNumStats]) {
  if (options.correction == Correction::kNone) return 1;
  const float old = rows.old_logprob_R == nullptr ? rows.logprob_R[r] : rows.old_logprob_R[r];
  const float ratio = ratio_of(old - rows.rollout_logprob_R[r]);
  const bool is_inside = ratio >= options.correction_low && ratio <= options.correction_high;
  const float masked = is_inside ? ratio : 0;
  const float held = options.correction == Correction::kMask ? masked : fminf(ratio, options.correction_high);
  sums[kRatio] += ratio;
  sums[kNumCorrected] += held != ratio ? 1 : 0;
  return held;
}

// The row's gradients but for the objective's, and its share of all sums; returns weight d objective / d log ratio, or
// d log-probability where that is the objective.
__device__ __forceinline__ float add_row(const PolicyRows& rows, const PolicyOptions& options, int64_t r,
                                         float log_ratio, double (&sums)[kNumStats]) {
  const float logprob = rows.logprob_R[r], entropy = rows.entropy_R[r], weight = rows.weights_R[r];
  Term objective{-logprob, -1}, kl{0, 0};
  if (options.objective != Objective::kLikelihood) {
    bool is_clipped;
    const float advantage = rows.advantages_R[r];
    objective = options.objective == Objective::kClippedWeight
                    ? clipped_weight(options, advantage, log_ratio, logprob, is_clipped)
                    : clipped_objective(options, advantage, log_ratio, is_clipped);
    sums[kApproxKl] -= log_ratio;
    sums[kNumClipped] += is_clipped ? 1 : 0;
  }
  const float correction = correction_of(rows, options, r, sums);
  objective = {correction * objective.value, correction * objective.slope};
  if (options.kl != KlEstimator::kNone) kl = kl_term(options.kl, rows.reference_logprob_R[r] - logprob);
  const float all = objective.value + options.kl_coef * kl.value - options.entropy_coef * entropy;
  sums[kLoss] += double{weight} * all;
  sums[kPolicy] += double{weight} * objective.value;
  sums[kNumRows] += 1;
  sums[kEntropy] += entropy;
  sums[kKl] += kl.value;
  if (rows.rollout_logprob_R != nullptr) {
    const double gap = fabsf(logprob - rows.rollout_logprob_R[r]);
    sums[kGap] += gap;
    sums[kGapMax] = fmax(sums[kGapMax], gap);
  }
  rows.entropy_grad_R[r] = -weight * options.entropy_coef;
  rows.logprob_grad_R[r] = weight * options.kl_coef * kl.slope;
  return weight * objective.slope;
}

__device__ __forceinline__ float sum_of_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
  return value;
}

// The first row of `sequence` or of one behind it: of 32 parts, a lane looks at each one's first row. A warp calls.
__device__ __forceinline__ int64_t first_row(const PolicyRows& rows, int64_t sequence) {
  int64_t low = 0, high = rows.num_rows;
  while (low < high) {
    const int64_t part = (high - low + 31) / 32, at = low + threadIdx.x % 32 * part;
    const int num_before = __popc(__ballot_sync(~0u, at < high && rows.sequences_R[at] < sequence));
    high = min(high, low + num_before * part);
    if (num_before > 0) low += (num_before - 1) * part + 1;
  }
  return low;
}

// Lane l has rows l, l + 32, ... of the sequence: their mean log ratio takes its part of each row's slope back to each.
__device__ __forceinline__ void add_sequence(const PolicyRows& rows, const PolicyOptions& options, int64_t sequence,
                                             double (&sums)[kNumStats]) {
  const int64_t first = first_row(rows, sequence), end = first_row(rows, sequence + 1);
  const int64_t begin = first + threadIdx.x % 32;
  const float count = fmaxf(static_cast<float>(end - first), 1.0f);
  float log_ratios = 0, slopes = 0;
  for (int64_t r = begin; r < end; r += 32) log_ratios += log_ratio_of(rows, r);
  const float log_ratio = sum_of_warp(log_ratios) / count;
  for (int64_t r = begin; r < end; r += 32) slopes += add_row(rows, options, r, log_ratio, sums);
  const float slope = sum_of_warp(slopes) / count;
  for (int64_t r = begin; r < end; r += 32) rows.logprob_grad_R[r] += slope;
}

__global__ void __launch_bounds__(kThreads) policy_block(PolicyRows rows, PolicyOptions options) {
  SEEKRL_SHARED(double, parts, kNumStats* kWarps);
  double sums[kNumStats] = {};
  if (options.objective == Objective::kClippedSequence) {
    const int64_t num_sequences = rows.sequences_R[rows.num_rows - 1] + 1;
    for (int64_t s = threadIdx.x / 32; s < num_sequences; s += kWarps) add_sequence(rows, options, s, sums);
  } else {
    for (int64_t r = threadIdx.x; r < rows.num_rows; r += kThreads) {
      const float slope = add_row(rows, options, r, log_ratio_of(rows, r), sums);
      rows.logprob_grad_R[r] += slope;
    }
  }
  add_stats<kNumStats, true>(&rows.stats->loss, sums, parts);
}

__global__ void __launch_bounds__(kThreads) value_block(ValueRows rows, float clip) {
  SEEKRL_SHARED(double, parts, 4 * kWarps);
  double sums[4] = {};  // as in ValueStats
  static_assert(sizeof(ValueStats) == sizeof(sums));
  for (int64_t r = threadIdx.x; r < rows.num_rows; r += kThreads) {
    const float value = rows.values_R[r], weight = rows.weights_R[r], error = value - rows.returns_R[r];
    float square = error * error;
    bool is_clipped = false;
    if (clip > 0) {
      const float old = rows.old_values_R[r], moved = value - old;
      const float held = (fabsf(moved) > clip ? old + copysignf(clip, moved) : value) - rows.returns_R[r];
      is_clipped = held * held > square;
      square = fmaxf(square, held * held);
    }
    rows.values_grad_R[r] = is_clipped ? 0.0f : weight * error;
    sums[0] += 0.5 * weight * square;
    sums[1] += 1;
    sums[2] += is_clipped ? 1 : 0;
    sums[3] += value;
  }
  add_stats<4, false>(&rows.stats->loss, sums, parts);
}

const char* missing(const PolicyRows& rows, const PolicyOptions& options) {
  if (options.objective != Objective::kLikelihood && rows.advantages_R == nullptr) return "policy: advantages needed";
  if (options.objective == Objective::kClippedSequence && rows.sequences_R == nullptr)
    return "policy: sequences needed";
  if (options.kl != KlEstimator::kNone && rows.reference_logprob_R == nullptr) return "policy: reference needed";
  if (options.correction != Correction::kNone && rows.rollout_logprob_R == nullptr) return "policy: rollout needed";
  return nullptr;
}

}  // namespace

Status policy_rows(const PolicyRows& rows, const PolicyOptions& options, void* stream) {
  if (const char* what = missing(rows, options); what != nullptr) return what;
  if (rows.num_rows == 0) return nullptr;
  return launch(&policy_block, dim3(1), dim3(kThreads), 0, stream, rows, options);
}

Status value_rows(const ValueRows& rows, float clip, void* stream) {
  if (clip > 0 && rows.old_values_R == nullptr) return "value: old values needed";
  if (rows.num_rows == 0) return nullptr;
  return launch(&value_block, dim3(1), dim3(kThreads), 0, stream, rows, clip);
}

}  // namespace seekrl::cuda
