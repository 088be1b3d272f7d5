// A block a row; a thread has eight neighbours of each 4,096 logits.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/train/token_logprob.h"

namespace seekrl::cuda {

namespace {

constexpr int kThreads = 512, kAtOnce = kThreads * 8;
// Less than any logit, and finite, so that its difference to one is a number.
constexpr float kLeast = -1e30f;

// Of one thread: the sums over its z of exp(z - max) and of (z - max) exp(z - max).
struct Tally {
  float max = kLeast, sum = 0, weighted = 0;

  __device__ __forceinline__ void move_to(float other) {
    const float scale = expf(max - other);
    weighted = (weighted + sum * (max - other)) * scale;
    sum *= scale;
    max = other;
  }

  __device__ __forceinline__ void add(const float (&z)[8]) {
    float most = z[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) most = fmaxf(most, z[i]);
    if (most > max) move_to(most);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float e = expf(z[i] - max);
      sum += e;
      if (e > 0) weighted = fmaf(z[i] - max, e, weighted);
    }
  }
};

template <bool kIsCapped>
__device__ __forceinline__ float capped(float logit, float softcap) {
  return kIsCapped ? softcap * tanhf(logit / softcap) : logit;
}

template <bool kIsCapped>
__global__ void __launch_bounds__(kThreads) score_rows(RowScores scores, LogitRows rows) {
  SEEKRL_SHARED(float, parts, 3 * kThreads / 32);
  const int64_t row = blockIdx.x, size = rows.vocab_size;
  const float* const logits = rows.logits_RV + row * rows.stride;
  Tally tally;
#pragma unroll 2
  for (int64_t v = threadIdx.x * int64_t{8}; v < size; v += kAtOnce) {
    float z[8];
    load_8(z, logits + v);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      z[i] = v + i < size ? capped<kIsCapped>(z[i], rows.softcap) * rows.inverse_temperature : -INFINITY;
    }
    tally.add(z);
  }
  const float most = reduce_block<Max, kThreads>(tally.max, parts);
  tally.move_to(most);
  const float sum = reduce_block<Sum, kThreads>(tally.sum, parts + kThreads / 32);
  const float weighted = reduce_block<Sum, kThreads>(tally.weighted, parts + 2 * kThreads / 32);
  if (threadIdx.x != 0) return;
  const float log_sum = logf(sum);
  const float z = capped<kIsCapped>(logits[rows.ids_R[row]], rows.softcap) * rows.inverse_temperature;
  scores.logprob_R[row] = (z - most) - log_sum;
  scores.entropy_R[row] = log_sum - weighted / sum;
  scores.max_R[row] = most;
  scores.log_sum_R[row] = log_sum;
}

// What every logit's gradient of a row needs.
struct RowSlopes {
  float inverse_temperature, softcap, max, log_sum, entropy, logprob_grad, entropy_grad;

  template <bool kIsCapped>
  __device__ __forceinline__ float of(float logit, bool is_id) const {
    const float t = kIsCapped ? tanhf(logit / softcap) : 0.0f;
    const float z = (kIsCapped ? softcap * t : logit) * inverse_temperature;
    const float log_p = (z - max) - log_sum, p = expf(log_p);
    const float slope = fmaf(entropy_grad, log_p + entropy, logprob_grad);
    const float grad = (is_id ? logprob_grad : 0.0f) - (p > 0 ? p * slope : 0.0f);
    return grad * inverse_temperature * (kIsCapped ? 1.0f - t * t : 1.0f);
  }
};

template <class Number, bool kIsCapped>
__global__ void __launch_bounds__(kThreads)
    logit_gradient_rows(LogitRows rows, RowScores scores, ScoreGradients gradients) {
  const int64_t row = blockIdx.x, size = rows.vocab_size, id = rows.ids_R[row];
  float* const logits = rows.logits_RV + row * rows.stride;
  auto* const to = reinterpret_cast<Number*>(logits);
  const RowSlopes slopes{rows.inverse_temperature, rows.softcap,          scores.max_R[row],
                         scores.log_sum_R[row],    scores.entropy_R[row], gradients.logprob_R[row],
                         gradients.entropy_R[row]};
  for (int64_t first = 0; first < rows.stride; first += kAtOnce) {
    const int64_t v = first + threadIdx.x * int64_t{8};
    float x[8];
    if (v < rows.stride) load_8(x, logits + v);
    // In 16 bits what is written lies over logits that other threads have read, no further than this round's.
    if (sizeof(Number) == 2) __syncthreads();
    if (v >= rows.stride) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = v + i < size ? slopes.of<kIsCapped>(x[i], v + i == id) : 0.0f;
    store_8(to + v, x);
  }
}

Status check_rows(const LogitRows& rows) {
  if (rows.stride % 8 != 0 || rows.stride < rows.vocab_size) {
    return "logits: expected rows that are a multiple of 8 floats apart, and no fewer than the vocabulary";
  }
  return rows.inverse_temperature > 0 ? nullptr : "logits: expected a temperature above 0";
}

template <class Number>
Status launch_gradients(const LogitRows& rows, const RowScores& scores, const ScoreGradients& gradients, void* stream) {
  const auto kernel = rows.softcap > 0 ? &logit_gradient_rows<Number, true> : &logit_gradient_rows<Number, false>;
  return launch(kernel, dim3(static_cast<unsigned>(rows.num_rows)), dim3(kThreads), 0, stream, rows, scores, gradients);
}

}  // namespace

Status score_logits(const RowScores& scores, const LogitRows& rows, void* stream) {
  if (rows.num_rows == 0) return nullptr;
  if (const Status status = check_rows(rows); status != nullptr) return status;
  const auto kernel = rows.softcap > 0 ? &score_rows<true> : &score_rows<false>;
  return launch(kernel, dim3(static_cast<unsigned>(rows.num_rows)), dim3(kThreads), 0, stream, scores, rows);
}

Status logit_gradients(const LogitRows& rows, const RowScores& scores, const ScoreGradients& gradients, Dtype dtype,
                       void* stream) {
  if (rows.num_rows == 0) return nullptr;
  if (const Status status = check_rows(rows); status != nullptr) return status;
  switch (dtype) {
    case Dtype::kBf16: return launch_gradients<Bf16>(rows, scores, gradients, stream);
    case Dtype::kF16: return launch_gradients<F16>(rows, scores, gradients, stream);
    default: return launch_gradients<float>(rows, scores, gradients, stream);
  }
}

}  // namespace seekrl::cuda
