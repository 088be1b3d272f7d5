// A block a row: for its scores as logits.cuh has it, for its gradient with eight neighbours of each 4,096 to a thread.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/logits.cuh"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/train/token_logprob.h"

namespace seekrl::cuda {

namespace {

constexpr int kAtOnce = kRowThreads * 8;

// In whatever order, so in the one that reads neighbours together.
__device__ __forceinline__ float max_of(const Logits& logits, float* parts) {
  float most = kForbidden;
#pragma unroll 4
  for (int v = static_cast<int>(threadIdx.x) * 4; v < logits.size; v += kRowThreads * 4) {
    float z[4];
    load_four<true>(z, logits, v);
#pragma unroll
    for (int j = 0; j < 4; ++j) most = fmaxf(most, z[j]);
  }
  return reduce_block<Max, kRowThreads>(most, parts);
}

__global__ void __launch_bounds__(kRowThreads) score_rows(RowScores scores, LogitRows rows) {
  SEEKRL_SHARED(float, parts, kRowThreads / 32);
  using BlockSums = float[kMaxBlocks];
  SEEKRL_SHARED(BlockSums, sums, 2);
  SEEKRL_SHARED(double, totals, 2);
  const int64_t row = blockIdx.x;
  const Logits logits{rows.logits_RV + row * rows.stride, static_cast<int>(rows.vocab_size), rows.softcap};
  const Scale scale{rows.inverse_temperature, max_of(logits, parts) * rows.inverse_temperature};
  each_block(logits, [&](int block) {
    float total[4] = {}, weighted[4] = {};
    each_four<true>(logits, block, [&](int, const float (&z)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) add_weighted(total[j], weighted[j], scale, z[j]);
    });
    put_sum(sums[0], logits, block, total);
    put_sum(sums[1], logits, block, weighted);
  });
  __syncthreads();
  add_blocks<2>(totals, sums, logits);
  if (threadIdx.x != 0) return;
  const auto log_sum = static_cast<float>(log(totals[0]));
  const int64_t id = rows.ids_R[row] - rows.first_id;
  const bool is_here = id >= 0 && id < rows.vocab_size;
  const float z = is_here ? logits.at(static_cast<int>(id)) * rows.inverse_temperature : kForbidden;
  scores.logprob_R[row] = rows.is_part ? z : (z - scale.max) - log_sum;
  scores.entropy_R[row] = entropy_of(totals[0], totals[1]);
  scores.max_R[row] = scale.max;
  scores.log_sum_R[row] = log_sum;
}

constexpr int kCombineThreads = 128;

__global__ void __launch_bounds__(kCombineThreads)
    combine_rows(RowScores scores, const float* parts_P4R, int num_parts, int64_t num_rows) {
  const int64_t row = blockIdx.x * int64_t{kCombineThreads} + threadIdx.x;
  if (row >= num_rows) return;
  const auto part = [&](int p, int list) { return parts_P4R[(p * int64_t{4} + list) * num_rows + row]; };
  float max = kForbidden, z = kForbidden;
  for (int p = 0; p < num_parts; ++p) {
    z = fmaxf(z, part(p, 0));
    max = fmaxf(max, part(p, 2));
  }
  double sum = 0, mean = 0;
  for (int p = 0; p < num_parts; ++p) {
    const float own_max = part(p, 2), own_log_sum = part(p, 3);
    const double weight = exp(double{own_max} - max + own_log_sum);
    sum += weight;
    if (weight != 0) mean += weight * (double{own_log_sum} - part(p, 1) + own_max - max);
  }
  const double log_sum = log(sum);
  scores.logprob_R[row] = (z - max) - static_cast<float>(log_sum);
  scores.entropy_R[row] = static_cast<float>(log_sum - mean / sum);
  scores.max_R[row] = max;
  scores.log_sum_R[row] = static_cast<float>(log_sum);
}

// What every logit's gradient of a row needs.
struct RowSlopes {
  Logits logits;
  Scale scale;
  float log_sum, entropy, logprob_grad, entropy_grad;

  __device__ __forceinline__ float of(float logit, bool is_id) const {
    const float z = logits.capped(logit), log_p = shifted(scale, z) - log_sum, p = exp_f32(log_p);
    const float slope = fmaf(entropy_grad, log_p + entropy, logprob_grad);
    // What has no share has no gradient, however far away it is.
    float grad = p == 0 ? 0.0f : -(p * slope * scale.inverse_temperature);
    if (is_id) grad += logprob_grad * scale.inverse_temperature;
    if (logits.softcap <= 0) return grad;
    const float t = z * (1.0f / logits.softcap);
    return grad * (1.0f - t * t);
  }
};

template <class Number>
__global__ void __launch_bounds__(kRowThreads)
    logit_gradient_rows(LogitRows rows, RowScores scores, ScoreGradients gradients) {
  const int64_t row = blockIdx.x, size = rows.vocab_size, id = rows.ids_R[row] - rows.first_id;
  float* const logits = rows.logits_RV + row * rows.stride;
  auto* const to = reinterpret_cast<Number*>(logits);
  const RowSlopes slopes{{logits, static_cast<int>(size), rows.softcap},
                         {rows.inverse_temperature, scores.max_R[row]},
                         scores.log_sum_R[row],
                         scores.entropy_R[row],
                         gradients.logprob_R[row],
                         gradients.entropy_R[row]};
  for (int64_t first = 0; first < rows.stride; first += kAtOnce) {
    const int64_t v = first + threadIdx.x * int64_t{8};
    float x[8];
    if (v < rows.stride) load_8(x, logits + v);
    // In 16 bits what is written lies over logits that other threads have read, no further than this round's.
    if (sizeof(Number) == 2) __syncthreads();
    if (v >= rows.stride) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = v + i < size ? slopes.of(x[i], v + i == id) : 0.0f;
    store_8(to + v, x);
  }
}

Status check_rows(const LogitRows& rows) {
  if (rows.stride % 8 != 0 || rows.stride < rows.vocab_size) {
    return "logits: expected rows that are a multiple of 8 floats apart, and no fewer than the vocabulary";
  }
  if (rows.vocab_size < 1 || rows.vocab_size > kMaxVocabSize) return "logits: expected 1 to 327,680 logits a row";
  if (!are_aligned({rows.logits_RV})) return "logits: expected rows at multiples of 16 bytes";
  return rows.inverse_temperature > 0 ? nullptr : "logits: expected a temperature above 0";
}

template <class Number>
Status launch_gradients(const LogitRows& rows, const RowScores& scores, const ScoreGradients& gradients, void* stream) {
  return launch(&logit_gradient_rows<Number>, dim3(static_cast<unsigned>(rows.num_rows)), dim3(kRowThreads), 0, stream,
                rows, scores, gradients);
}

}  // namespace

Status score_logits(const RowScores& scores, const LogitRows& rows, void* stream) {
  if (rows.num_rows == 0) return nullptr;
  if (const Status status = check_rows(rows); status != nullptr) return status;
  return launch(&score_rows, dim3(static_cast<unsigned>(rows.num_rows)), dim3(kRowThreads), 0, stream, scores, rows);
}

Status combine_scores(const RowScores& scores, const float* parts_P4R, int64_t num_parts, int64_t num_rows,
                      void* stream) {
  if (num_rows == 0) return nullptr;
  const auto blocks = static_cast<unsigned>((num_rows + kCombineThreads - 1) / kCombineThreads);
  return launch(&combine_rows, dim3(blocks), dim3(kCombineThreads), 0, stream, scores, parts_P4R,
                static_cast<int>(num_parts), num_rows);
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
