// Gradients: one kernel has a tile of rows and sums over their keys, the other a tile of keys and sums over all rows
// that see them. Both make the probabilities again.
#pragma once

#include "kernels/cuda/attention/span.cuh"

namespace seekrl::cuda {

// sum_c out_grad_c out_c by head and token: a warp each, whose lanes have eight channels, at most 256 together.
template <class Number>
__global__ void __launch_bounds__(kSpanThreads, 1) multiply_out(SpanAttentionGradient call) {
  const int64_t item = int64_t{blockIdx.x} * kSpanWarps + threadIdx.x / 32;
  if (item >= call.of.num_tokens * call.of.num_heads) return;
  const int64_t width = call.of.head_dim, token = item / call.of.num_heads, head = item % call.of.num_heads;
  const auto* const out = static_cast<const Number*>(call.of.out_THC) + item * width;
  const auto* const grad = static_cast<const Number*>(call.out_grad_THC) + item * width;
  const auto c = static_cast<int64_t>(threadIdx.x) % 32 * 8;
  float sum = 0;
  if (c < width) {
    float of_out[8], of_grad[8];
    load_8(of_out, out + c);
    load_8(of_grad, grad + c);
    for (int i = 0; i < 8; ++i) sum += of_out[i] * of_grad[i];
  }
  sum = reduce_warp<Sum>(sum);
  if (threadIdx.x % 32 == 0) call.scratch_HT[head * call.of.num_tokens + token] = sum;
}

// The gradient of one score's product, from the product, that with the value, and the row's two sums.
__device__ __forceinline__ float score_gradient(const SpanAttention& call, float product, float with_value,
                                                float log_sum, float out_product, float& probability) {
  const Score score = score_of(call, product);
  probability = exp2f(score.value - log_sum);
  return probability * (with_value - out_product) * score.slope;
}

template <int C>
constexpr int kQueryGradientSharedBytes = kSpanSharedBytes<C> + kSpanTileRows * kRowStride<C> * 2;

template <class Number, int C>
__global__ void __launch_bounds__(kSpanThreads, 1) span_query_gradient(SpanAttentionGradient gradient) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  constexpr int kKeys = kSpanKeys<C>;
  const SpanAttention& call = gradient.of;
  SpanWork<C> work(call, shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  uint16_t* const out_grads = shared + kSpanSharedBytes<C> / 2;
  fetch_tile<C>(work.rows, call.query_THC, work.tile, work.head);
  fetch_tile<C>(out_grads, {gradient.out_grad_THC, call.num_heads * C}, work.tile, work.head);
  float log_sum[2], out_product[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int64_t at = work.head * call.num_tokens + work.tile.first + work.first_row + lane / 4 + r * 8;
    log_sum[r] = work.last_seen[r] < 0 ? 0 : call.log_sum_HT[at];
    out_product[r] = work.last_seen[r] < 0 ? 0 : gradient.scratch_HT[at];
  }
  float sums[C / 8][4] = {};
  for_each_tile(work, call, [&](int t, const uint16_t* keys, const uint16_t* values) {
    float scores[kKeys / 8][4] = {}, with_values[kKeys / 8][4] = {};
    multiply_rows<Number, C, kKeys>(scores, work.rows + work.first_row * kRowStride<C>, keys);
    multiply_rows<Number, C, kKeys>(with_values, out_grads + work.first_row * kRowStride<C>, values);
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      float &score = scores[i / 4][i % 4], probability;
      const int key = t * kKeys + i / 4 * 8 + lane % 4 * 2 + i % 2, r = i / 2 % 2;
      score = sees(call, work.last_seen[r], key)
                  ? score_gradient(call, score, with_values[i / 4][i % 4], log_sum[r], out_product[r], probability)
                  : 0.0f;
    }
    multiply_columns<Number, C, kKeys, C>(sums, scores, keys, 0);
  });
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (work.last_seen[r] < 0) continue;
    const int64_t token = work.tile.first + work.first_row + lane / 4 + r * 8;
    auto* const row = static_cast<Number*>(gradient.query_grad_THC) + token * call.query_THC.stride + work.head * C;
    store_row<Number, C>(row, sums, r, call.scale);
  }
}

// Rows of a tile of viewers.
template <int C>
constexpr int kViewers = C > 128 ? 16 : 32;
// Channels of both gradients that a block of threads sums: wide heads are cut in two.
template <int C>
constexpr int kGradientColumns = C > 128 ? C / 2 : C;

template <int C>
constexpr int kKeyGradientSharedBytes = (2 * kSpanTileRows + 2 * kViewers<C>)*kRowStride<C> * 2 + kViewers<C> * 3 * 4;

// The viewers of a tile that are in shared memory: queries, gradients of `out`, and three numbers of each.
template <int C>
struct Viewers {
  uint16_t *queries, *out_grads;
  float *log_sum, *out_product;
  int* position;  // negative where there is none

  __device__ explicit Viewers(uint16_t* shared)
      : queries(shared),
        out_grads(queries + kViewers<C> * kRowStride<C>),
        log_sum(reinterpret_cast<float*>(out_grads + kViewers<C> * kRowStride<C>)),
        out_product(log_sum + kViewers<C>),
        position(reinterpret_cast<int*>(out_product + kViewers<C>)) {}

  // Those from place `first` to `end` of the list.
  __device__ void fetch(const SpanAttentionGradient& gradient, const int32_t* list, int first, int end, int64_t head) {
    const SpanAttention& call = gradient.of;
    const SpanHeads out_grad{gradient.out_grad_THC, call.num_heads * C};
    const auto fetch = [&](uint16_t* to, const SpanHeads& from) {
      fetch_rows<C, kViewers<C>, kSpanThreads>(
          to, [&](int row) { return first + row < end ? head_at(from, list[first + row], head, C) : nullptr; });
    };
    fetch(queries, call.query_THC);
    fetch(out_grads, out_grad);
    const int row = static_cast<int>(threadIdx.x);
    if (row < kViewers<C>) {
      const bool is_there = first + row < end;
      const int64_t token = is_there ? list[first + row] : 0, at = head * call.num_tokens + token;
      position[row] = is_there ? call.position_T[token] : -1;
      log_sum[row] = is_there ? call.log_sum_HT[at] : 0;
      out_product[row] = is_there ? gradient.scratch_HT[at] : 0;
    }
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
  }
};

// One warp's 16 keys by a tile of viewers: adds to the gradients of their keys and values, transposed products of those
// of the rows.
template <class Number, int C>
__device__ __forceinline__ void add_viewers(float (&key_sums)[kGradientColumns<C> / 8][4],
                                            float (&value_sums)[kGradientColumns<C> / 8][4], const SpanAttention& call,
                                            const uint16_t* keys, const uint16_t* values, const Viewers<C>& viewers,
                                            const int (&position)[2], int first_column) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float scores[kViewers<C> / 8][4] = {}, with_values[kViewers<C> / 8][4] = {};
  multiply_rows<Number, C, kViewers<C>>(scores, keys, viewers.queries);
  multiply_rows<Number, C, kViewers<C>>(with_values, values, viewers.out_grads);
#pragma unroll
  for (int i = 0; i < kViewers<C> / 2; ++i) {
    float &score = scores[i / 4][i % 4], &with_value = with_values[i / 4][i % 4];
    const int row = i / 4 * 8 + lane % 4 * 2 + i % 2, key = position[i / 2 % 2];
    float probability = 0, grad = 0;
    if (key >= 0 && sees(call, viewers.position[row], key)) {
      grad = score_gradient(call, score, with_value, viewers.log_sum[row], viewers.out_product[row], probability);
    }
    score = grad;
    with_value = probability;
  }
  multiply_columns<Number, C, kViewers<C>, kGradientColumns<C>>(key_sums, scores, viewers.queries, first_column);
  multiply_columns<Number, C, kViewers<C>, kGradientColumns<C>>(value_sums, with_values, viewers.out_grads,
                                                                first_column);
}

// blockIdx: a tile of tokens as keys, a key head, a part of the channels.
template <class Number, int C>
__global__ void __launch_bounds__(kSpanThreads, 1) span_key_gradient(SpanAttentionGradient gradient) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  constexpr int kColumns = kGradientColumns<C>;
  const SpanAttention& call = gradient.of;
  const SpanTile tile = call.tiles[blockIdx.x];
  const int64_t kv_head = blockIdx.y, group = call.num_heads / call.num_kv_heads;
  const int lane = static_cast<int>(threadIdx.x) % 32, first_row = static_cast<int>(threadIdx.x) / 32 * 16;
  uint16_t *const keys = shared, *const values = keys + kSpanTileRows * kRowStride<C>;
  fetch_tile<C>(keys, call.key_TKC, tile, kv_head);
  fetch_tile<C>(values, call.value_TKC, tile, kv_head);
  Viewers<C> viewers(values + kSpanTileRows * kRowStride<C>);
  int position[2];
  for (int r = 0; r < 2; ++r) {
    const int row = first_row + lane / 4 + r * 8;
    position[r] = row < tile.count ? call.position_T[tile.first] + row : -1;
  }
  // Tokens of its own span before the tile do not see it.
  const int32_t* const list = gradient.viewers + gradient.viewers_start_S[tile.span];
  const int end = gradient.viewers_start_S[tile.span + 1] - gradient.viewers_start_S[tile.span];
  const int begin = tile.first - list[0];
  float key_sums[kColumns / 8][4] = {}, value_sums[kColumns / 8][4] = {};
  for (int64_t g = 0; g < group; ++g) {
    for (int first = begin; first < end; first += kViewers<C>) {
      viewers.fetch(gradient, list, first, end, kv_head * group + g);
      add_viewers<Number, C>(key_sums, value_sums, call, keys + first_row * kRowStride<C>,
                             values + first_row * kRowStride<C>, viewers, position,
                             static_cast<int>(blockIdx.z) * kColumns);
      __syncthreads();
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (position[r] < 0) continue;
    const int64_t token = tile.first + first_row + lane / 4 + r * 8;
    const int64_t column = kv_head * C + blockIdx.z * kColumns;
    store_row<Number, kColumns>(static_cast<Number*>(gradient.key_grad_TKC) + token * call.key_TKC.stride + column,
                                key_sums, r, call.scale);
    store_row<Number, kColumns>(static_cast<Number*>(gradient.value_grad_TKC) + token * call.value_TKC.stride + column,
                                value_sums, r, 1.0f);
  }
}

}  // namespace seekrl::cuda
