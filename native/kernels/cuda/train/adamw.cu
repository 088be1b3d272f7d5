// The reference's sums and roundings, element by element; no multiply-add is fused but those it names.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/philox.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/train/adamw.h"

namespace seekrl::cuda {

namespace {

using kernels::AdamWSlice;
using kernels::DynamicMap;
using kernels::kMomentBlock;

constexpr int kThreads = 256;
static_assert(kMomentBlock == kThreads);

// The slice whose blocks hold `block`: the last that begins no later.
__device__ __forceinline__ int64_t slice_of(const int64_t* first_block_S, int64_t num_slices, int64_t block) {
  int64_t low = 0, high = num_slices;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (first_block_S[middle] <= block ? low : high) = middle;
  }
  return low;
}

__device__ __forceinline__ int nearest(const DynamicMap& map, float x) {
  const uint32_t key = min(max(bits_of(x) >> 16, DynamicMap::kFirstKey), DynamicMap::kLastKey);
  const int low = map.lowest[key - DynamicMap::kFirstKey];
  return low + (x > map.middles[low] ? 1 : 0);
}

__device__ __forceinline__ uint8_t first_code(const DynamicMap& map, float x) {
  const int index = nearest(map, fabsf(x));
  if (!(x < 0) || index == 0) return static_cast<uint8_t>(index);
  return static_cast<uint8_t>(kernels::kNegative + min(index, kernels::kNegative - 1));
}

__device__ __forceinline__ uint8_t root_code(const DynamicMap& map, float x) {
  const int index = nearest(map, x);
  return static_cast<uint8_t>(index == 0 && x > 0 ? 1 : index);
}

// Of numbers without a sign; where one is no number, that: as bits, it is the largest.
struct Largest {
  __device__ __forceinline__ float operator()(float a, float b) const { return bits_of(a) > bits_of(b) ? a : b; }
};

__device__ __forceinline__ uint32_t random_bits(const AdamWSlice& slice, int64_t i) {
  const auto element = static_cast<uint64_t>(slice.offset + i);
  const uint4 words = philox(slice.seed, slice.stream, element / 8);
  const uint32_t of_four = element % 4 < 2 ? words.x : words.y, of_next = element % 4 < 2 ? words.z : words.w;
  const uint32_t word = element % 8 < 4 ? of_four : of_next;
  return element % 2 == 0 ? word & 0xffff : word >> 16;
}

__device__ __forceinline__ float weight_of(const AdamWSlice& slice, int64_t i) {
  if (slice.weights != nullptr) return slice.weights[i];
  const uint32_t high = uint32_t{slice.halves[i]} << 16;
  return float_of(high + static_cast<uint32_t>(slice.low == nullptr ? 0 : slice.low[i]));
}

__device__ __forceinline__ void set_weight(const AdamWSlice& slice, int64_t i, float value) {
  if (slice.weights != nullptr) {
    slice.weights[i] = value;
    return;
  }
  const uint32_t bits = bits_of(value), added = slice.low == nullptr ? random_bits(slice, i) : 0x8000;
  slice.halves[i] = static_cast<uint16_t>((bits + added) >> 16);
  if (slice.low != nullptr) slice.low[i] = static_cast<int16_t>(bits);
}

struct Moments {
  float first, second;
};

__device__ __forceinline__ Moments moments_of(const AdamWCall& call, const AdamWSlice& slice, int64_t i) {
  if (slice.first.codes == nullptr) return {slice.first.values[i], slice.second.values[i]};
  const int64_t block = i / kMomentBlock;
  const float root = call.unsigned_map->decoded[slice.second.codes[i]] * slice.second.scales[block];
  return {call.signed_map->decoded[slice.first.codes[i]] * slice.first.scales[block], root * root};
}

__device__ __forceinline__ float divisor_of(const AdamWCall& call) {
  if (call.squared_norm == nullptr) return call.step.gradient_divisor;
  const auto norm = static_cast<float>(sqrt(*call.squared_norm)) / call.step.gradient_divisor;
  return norm > call.max_norm ? call.step.gradient_divisor * (norm / call.max_norm) : call.step.gradient_divisor;
}

__global__ void __launch_bounds__(kThreads) adamw_blocks(AdamWCall call) {
  SEEKRL_SHARED(float, first_parts, kThreads / 32);
  SEEKRL_SHARED(float, root_parts, kThreads / 32);
  const int64_t s = slice_of(call.first_block_S, call.num_slices, blockIdx.x);
  const AdamWSlice slice = call.slices_S[s];
  const int64_t block = blockIdx.x - call.first_block_S[s], i = block * kMomentBlock + threadIdx.x;
  const bool is_there = i < slice.n;
  float m = 0, root = 0;
  if (is_there) {
    const kernels::AdamWStep& step = call.step;
    const float gradient = slice.gradients[i] / divisor_of(call);
    slice.gradients[i] = 0;
    const Moments before = moments_of(call, slice, i);
    const float difference = gradient - before.first;
    m = step.first_weight < 0.5f ? fmaf(step.first_weight, difference, before.first)
                                 : fmaf(step.first_weight - 1, difference, gradient);
    const float v = fmaf(step.second_weight * gradient, gradient, before.second * step.beta2);
    root = sqrtf(v);
    const float kept = weight_of(slice, i) * step.kept;
    set_weight(slice, i, kept + step.minus_rate * m / (root / step.root_divisor + step.epsilon));
    if (slice.first.codes == nullptr) {
      slice.first.values[i] = m;
      slice.second.values[i] = v;
    }
  }
  if (slice.first.codes == nullptr) return;  // so does the whole block of threads
  const float first_scale = reduce_block<Largest, kThreads>(fabsf(m), first_parts);
  const float root_scale = reduce_block<Largest, kThreads>(fabsf(root), root_parts);
  if (!is_there) return;
  if (threadIdx.x == 0) {
    slice.first.scales[block] = first_scale;
    slice.second.scales[block] = root_scale;
  }
  slice.first.codes[i] = first_code(*call.signed_map, m / (first_scale > 0 ? first_scale : 1.0f));
  slice.second.codes[i] = root_code(*call.unsigned_map, root / (root_scale > 0 ? root_scale : 1.0f));
}

// A thread adds the elements of its number in each of its group's blocks, then the threads join by a tree.
__global__ void __launch_bounds__(kThreads)
    square_groups(double* group_sums, const AdamWSlice* slices_S, const int64_t* first_block_S, int64_t num_slices,
                  int64_t num_blocks) {
  SEEKRL_SHARED(double, parts, kThreads);
  const int64_t per_group = ceil_divide(num_blocks, kSquareGroups), first = blockIdx.x * per_group;
  if (first >= num_blocks) {
    if (threadIdx.x == 0) group_sums[blockIdx.x] = 0;
    return;
  }
  double sum = 0;
  for (int64_t block = first; block < min(first + per_group, num_blocks); ++block) {
    const int64_t s = slice_of(first_block_S, num_slices, block);
    const int64_t i = (block - first_block_S[s]) * kMomentBlock + threadIdx.x;
    if (i >= slices_S[s].n) continue;
    const double gradient = slices_S[s].gradients[i];
    sum += gradient * gradient;
  }
  parts[threadIdx.x] = sum;
  for (unsigned distance = kThreads / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (threadIdx.x < distance) parts[threadIdx.x] += parts[threadIdx.x + distance];
  }
  if (threadIdx.x == 0) group_sums[blockIdx.x] = parts[0];
}

__global__ void add_groups(double* sum, const double* group_sums) {
  double all = 0;
  for (int64_t group = 0; group < kSquareGroups; ++group) all += group_sums[group];
  *sum = all;
}

}  // namespace

Status adamw(const AdamWCall& call, void* stream) {
  if (call.num_blocks == 0) return nullptr;
  return launch(&adamw_blocks, dim3(static_cast<unsigned>(call.num_blocks)), dim3(kThreads), 0, stream, call);
}

Status squared_norm(double* sum, double* scratch, const AdamWSlice* slices_S, const int64_t* first_block_S,
                    int64_t num_slices, int64_t num_blocks, void* stream) {
  const Status status = launch(&square_groups, dim3(static_cast<unsigned>(kSquareGroups)), dim3(kThreads), 0, stream,
                               scratch, slices_S, first_block_S, num_slices, num_blocks);
  if (status != nullptr) return status;
  return launch(&add_groups, dim3(1), dim3(1), 0, stream, sum, static_cast<const double*>(scratch));
}

}  // namespace seekrl::cuda
