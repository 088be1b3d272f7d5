// Lists of the best rows: a key orders scores and rows at once, lists are cut to their best num_hits when they fill.
#pragma once

#include "kernels/cuda/number.h"

namespace seekrl::cuda {

// A score above a row: the greater key is the better hit. 0 is none.
using Key = unsigned long long;

__device__ __forceinline__ Key key_of(float score, uint32_t row) {
  // Of floats, -0 equals 0.
  const uint32_t bits = bits_of(score == 0 ? 0.0f : score);
  const uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return Key{ordered} << 32 | ~row;
}
__device__ __forceinline__ float score_of_key(Key key) {
  const auto ordered = static_cast<uint32_t>(key >> 32);
  return key == 0 ? -INFINITY : float_of((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}
__device__ __forceinline__ int32_t row_of_key(Key key) {
  return key == 0 ? -1 : static_cast<int32_t>(~static_cast<uint32_t>(key));
}

// The best first, by the whole block; `size` is a power of two. Ends with a barrier.
template <int kThreads>
__device__ __forceinline__ void sort_keys(Key* keys, int size) {
  for (int span = 2; span <= size; span *= 2) {
    for (int distance = span / 2; distance > 0; distance /= 2) {
      for (int i = static_cast<int>(threadIdx.x); i < size / 2; i += kThreads) {
        const int low = 2 * i - (i & (distance - 1)), high = low + distance;
        const Key a = keys[low], b = keys[high];
        if ((a < b) != ((low & span) == 0)) continue;
        keys[low] = b;
        keys[high] = a;
      }
      __syncthreads();
    }
  }
}

// Lists of keys, in no order: list p of query q has counts[p Q + q] keys from keys + (p Q + q) capacity.
struct KeyLists {
  Key* limits_Q;  // what is below cannot be among the best num_hits of all lists
  Key* keys;
  int32_t* counts;
  int64_t num_queries, num_lists, capacity;
};

inline int64_t key_list_bytes(int64_t num_queries, int64_t num_lists, int64_t capacity) {
  return num_queries * (8 + num_lists * (8 * capacity + 4));
}
inline KeyLists lists_in(void* scratch, int64_t num_queries, int64_t num_lists, int64_t capacity) {
  Key* const limits = static_cast<Key*>(scratch);
  Key* const keys = limits + num_queries;
  auto* const counts = reinterpret_cast<int32_t*>(keys + num_queries * num_lists * capacity);
  return {limits, keys, counts, num_queries, num_lists, capacity};
}

constexpr int kSelectThreads = 128;

// Room for num_hits keys and as many more as there are threads at once, to be sorted.
inline int64_t sorted_capacity(int64_t num_hits) {
  int64_t capacity = 2 * kSelectThreads;
  while (capacity < num_hits + kSelectThreads) capacity *= 2;
  return capacity;
}

// A block a query: the best num_hits of its lists, in order.
__global__ void __launch_bounds__(kSelectThreads)
    select_best(int32_t* ids_QM, float* scores_QM, KeyLists lists, int num_hits, int capacity) {
  SEEKRL_DYNAMIC_SHARED(Key, sorted);
  SEEKRL_SHARED(int, count, 1);
  const int64_t query = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  // Sorts what is there and keeps the best.
  const auto cut = [&] {
    for (int i = *count + thread; i < capacity; i += kSelectThreads) sorted[i] = 0;
    __syncthreads();
    sort_keys<kSelectThreads>(sorted, capacity);
    if (thread == 0 && *count > num_hits) *count = num_hits;
    __syncthreads();
  };
  if (thread == 0) *count = 0;
  __syncthreads();
  Key limit = lists.limits_Q[query];
  for (int64_t list = 0; list < lists.num_lists; ++list) {
    const int64_t at = list * lists.num_queries + query;
    const int size = lists.counts[at];
    for (int first = 0; first < size; first += kSelectThreads) {
      const Key key = first + thread < size ? lists.keys[at * lists.capacity + first + thread] : 0;
      if (key != 0 && key >= limit) sorted[atomicAdd(count, 1)] = key;
      __syncthreads();
      const bool is_full = *count + kSelectThreads > capacity;
      __syncthreads();
      if (!is_full) continue;
      cut();
      limit = max(limit, sorted[num_hits - 1]);
    }
  }
  cut();
  for (int i = thread; i < num_hits; i += kSelectThreads) {
    ids_QM[query * num_hits + i] = row_of_key(sorted[i]);
    scores_QM[query * num_hits + i] = score_of_key(sorted[i]);
  }
}

}  // namespace seekrl::cuda
