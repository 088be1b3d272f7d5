// The least weight that may be drawn, by digits of the weights' bits from the highest: engine/sampling/bound.h on the
// GPU. Counts and masses are integers, so that they are the same in whatever order threads add.
#pragma once

#include "kernels/cuda/sampling/row.cuh"

namespace seekrl::cuda {

// Digits of 11, 10 and 9 bits: weights are from 0 to less than 2, so bit 30 is never set.
constexpr int kHighShift = 19, kMiddleShift = 9;
constexpr int kHighDigits = 2048, kLowDigits = 1024;
constexpr uint32_t kAboveAll = 1u << 30;
constexpr int kListed = 4096;

struct Tally {
  uint64_t count, mass;
};
__device__ __forceinline__ Tally operator+(const Tally& a, const Tally& b) {
  return {a.count + b.count, a.mass + b.mass};
}

// Of a digit: how many weights there are, and their sum in units of 2^-44 as two words.
template <int kDigits>
struct Histogram {
  uint32_t counts[kDigits], low[kDigits], high[kDigits];

  __device__ void clear() {
    for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kRowThreads) counts[d] = low[d] = high[d] = 0;
  }
  __device__ __forceinline__ void add(uint32_t digit, float weight) {
    const auto mass = static_cast<uint64_t>(weight * 0x1p44f);
    const auto added = static_cast<uint32_t>(mass);
    atomicAdd(&counts[digit], 1u);
    const uint32_t before = atomicAdd(&low[digit], added);
    const uint32_t carried = static_cast<uint32_t>(mass >> 32) + (before + added < before ? 1u : 0u);
    if (carried != 0) atomicAdd(&high[digit], carried);
  }
  __device__ __forceinline__ Tally at(int digit) const {
    return {counts[digit], uint64_t{high[digit]} << 32 | low[digit]};
  }
};

// The highest digit at which the sum from above reaches what is needed; -1: at none, and `above` is all.
struct Crossing {
  int digit;
  Tally above, within;
};

struct BoundScratch {
  Histogram<kHighDigits> high;
  Histogram<kLowDigits> low;
  float listed[kListed];
  Tally warps[kRowThreads / 32];
  Crossing crossing;
  uint32_t num_listed;
};

// What selection is about: the weights of a row, and which of them are listed: those whose bits are in
// [listed_low, listed_high).
struct Weights {
  const Row* row;
  Scale scale;
  uint32_t listed_low, listed_high;
};

template <bool kByCount>
__device__ __forceinline__ uint64_t measure(const Tally& tally) {
  return kByCount ? tally.count : tally.mass;
}

// Thread t has the digits after the t-th part from the top. Barriers: one before its result is written, one after.
template <bool kByCount, int kDigits>
__device__ Crossing crossing_of(BoundScratch& scratch, const Histogram<kDigits>& histogram, uint64_t need) {
  constexpr int kPart = kDigits / kRowThreads;
  const int t = static_cast<int>(threadIdx.x), top = kDigits - 1 - t * kPart;
  Tally own{};
  for (int i = 0; i < kPart; ++i) own = own + histogram.at(top - i);
  Tally until = own;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const Tally before{__shfl_up_sync(~0u, until.count, by), __shfl_up_sync(~0u, until.mass, by)};
    if (t % 32 >= by) until = until + before;
  }
  if (t % 32 == 31) scratch.warps[t / 32] = until;
  __syncthreads();
  for (int warp = 0; warp < t / 32; ++warp) until = until + scratch.warps[warp];
  Tally above{until.count - own.count, until.mass - own.mass};
  if (measure<kByCount>(above) < need && measure<kByCount>(until) >= need) {
    int digit = top;
    while (measure<kByCount>(above + histogram.at(digit)) < need) above = above + histogram.at(digit--);
    scratch.crossing = {digit, above, histogram.at(digit)};
  } else if (t == kRowThreads - 1 && measure<kByCount>(until) < need) {
    scratch.crossing = {-1, until, {}};
  }
  __syncthreads();
  return scratch.crossing;
}

template <bool kIsAligned, class Each>
__device__ __forceinline__ void each_weight(const Weights& weights, const Each& each) {
  each_block(weights.row->logits, [&](int block) {
    each_edited_four<kIsAligned>(*weights.row, block, [&](int, const float (&)[4], const float (&edited)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float weight = weight_of(weights.scale, edited[j]);
        if (weight > 0) each(weight);
      }
    });
  });
}

// Lists the weights from `low` up when there is room for them, else those of the crossing alone, else none.
template <bool kIsAligned>
__device__ void list(BoundScratch& scratch, Weights& weights, const Crossing& crossing) {
  const uint32_t low = static_cast<uint32_t>(crossing.digit) << kHighShift, high = low + (1u << kHighShift);
  if (low >= weights.listed_low && high <= weights.listed_high) return;
  weights.listed_low = weights.listed_high = 0;
  if (crossing.within.count > kListed) return;
  weights.listed_low = low;
  weights.listed_high = crossing.above.count + crossing.within.count <= kListed ? kAboveAll : high;
  if (threadIdx.x == 0) scratch.num_listed = 0;
  __syncthreads();
  each_weight<kIsAligned>(weights, [&](float weight) {
    const uint32_t bits = bits_of(weight);
    if (bits < weights.listed_low || bits >= weights.listed_high) return;
    scratch.listed[atomicAdd(&scratch.num_listed, 1u)] = weight;
  });
  __syncthreads();
}

// The histogram of the digits at `shift` of the weights whose bits are in [first, end).
template <bool kIsAligned>
__device__ void fill_low(BoundScratch& scratch, const Weights& weights, uint32_t first, uint32_t end, int shift) {
  scratch.low.clear();
  __syncthreads();
  const auto add = [&](float weight) {
    const uint32_t bits = bits_of(weight);
    if (bits >= first && bits < end) scratch.low.add((bits - first) >> shift, weight);
  };
  if (first >= weights.listed_low && end <= weights.listed_high) {
    for (uint32_t i = threadIdx.x; i < scratch.num_listed; i += kRowThreads) add(scratch.listed[i]);
  } else {
    each_weight<kIsAligned>(weights, add);
  }
  __syncthreads();
}

struct Selected {
  float bound;    // the largest weight such that it and all above measure what is needed; 0: all together do not
  uint64_t mass;  // of it and all above
};

// scratch.high is filled. All threads call, all get it.
template <bool kIsAligned, bool kByCount>
__device__ Selected select(BoundScratch& scratch, Weights& weights, uint64_t need) {
  Crossing found = crossing_of<kByCount>(scratch, scratch.high, need);
  if (found.digit < 0) return {0, found.above.mass};
  list<kIsAligned>(scratch, weights, found);
  uint32_t bits = static_cast<uint32_t>(found.digit) << kHighShift;
  uint64_t mass = found.above.mass;
  for (int shift = kMiddleShift, before = kHighShift; before > 0; before = shift, shift = 0) {
    fill_low<kIsAligned>(scratch, weights, bits, bits + (1u << before), shift);
    need -= measure<kByCount>(found.above);
    found = crossing_of<kByCount>(scratch, scratch.low, need);
    bits += static_cast<uint32_t>(found.digit) << shift;
    mass += found.above.mass;
  }
  return {float_of(bits), mass + found.within.mass};
}

// Of what top-k and top-p leave; min-p is the caller's.
template <bool kIsAligned>
__device__ float least_kept(BoundScratch& scratch, Weights& weights) {
  const SampleRow& options = weights.row->options;
  const bool has_top_k = options.top_k > 0 && options.top_k < weights.row->logits.size;
  // More than there are: all of them.
  const uint64_t count = has_top_k ? static_cast<uint64_t>(options.top_k) : ~uint64_t{0};
  const Selected kept = select<kIsAligned, true>(scratch, weights, count);
  if (options.top_p >= 1) return kept.bound;
  const auto need = static_cast<uint64_t>(ceil(options.top_p * static_cast<double>(kept.mass)));
  const Selected share = select<kIsAligned, false>(scratch, weights, max(need, uint64_t{1}));
  return max(kept.bound, share.bound);
}

}  // namespace seekrl::cuda
