// A block of threads has a tile of queries and a part of the rows, which pass by in tiles; scores stay in registers
// until they are found below what is already known, or join their query's list.
#pragma once

#include "kernels/cuda/search/best.cuh"
#include "kernels/cuda/search/vectors.h"

namespace seekrl::cuda {

// A warp multiplies 32 queries by 64 rows; two warps stand side by side.
constexpr int kScanRows = 128;
// Bytes of a vector that are in shared memory at once; 16 more keep equal chunks of eight vectors in different banks.
constexpr int kScanBytes = 128, kScanStride = kScanBytes + 16;
// Tiles of rows between two looks at what other parts know.
constexpr int kLimitTiles = 16;

template <int kQueries>
constexpr int kScanThreads = kQueries * 2;
template <int kQueries>
constexpr int kScanSharedBytes = 2 * (kQueries + kScanRows) * kScanStride;

// A list has room for num_hits keys and a tile more.
static_assert(kScanRows == kSelectThreads);

// How vectors of a kind are multiplied.
template <VectorKind kKind>
struct VectorProducts;
template <>
struct VectorProducts<VectorKind::kBf16> {
  using Sum = float;
  static constexpr int kNumberBytes = 2;
  static __device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    mma_bf16(d, a, b0, b1);
  }
  static __device__ __forceinline__ float row_scale(const VectorSearch&, int64_t) { return 1; }
  static __device__ __forceinline__ float query_scale(const VectorSearch&, int64_t) { return 1; }
  static __device__ __forceinline__ float score(float sum, float, float) { return sum; }
};
template <>
struct VectorProducts<VectorKind::kInt8> {
  using Sum = int32_t;
  static constexpr int kNumberBytes = 1;
  static __device__ __forceinline__ void multiply(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    mma_int8(d, a, b0, b1);
  }
  static __device__ __forceinline__ float row_scale(const VectorSearch& call, int64_t row) {
    return call.row_scale_N[row];
  }
  static __device__ __forceinline__ float query_scale(const VectorSearch& call, int64_t query) {
    return call.query_scale_Q[query];
  }
  static __device__ __forceinline__ float score(int32_t sum, float query_scale, float row_scale) {
    return static_cast<float>(sum) * query_scale * row_scale;
  }
};

// The lists of a block's queries, in scratch, and what is known of them, in shared memory.
template <int kQueries>
struct QueryLists {
  static constexpr int kThreads = kScanThreads<kQueries>;

  __device__ QueryLists(const KeyLists& lists, Key* limits_, Key* sorted_, int* counts_, int* num_full_, int num_hits_)
      : limits(limits_), sorted(sorted_), counts(counts_), num_full(num_full_), num_hits(num_hits_) {
    const int64_t first_query = int64_t{blockIdx.x} * kQueries, first = blockIdx.y * lists.num_queries + first_query;
    num_queries = static_cast<int>(min(int64_t{kQueries}, lists.num_queries - first_query));
    capacity = static_cast<int>(lists.capacity);
    keys = lists.keys + first * lists.capacity;
    final_counts = lists.counts + first;
    shared_limits = lists.limits_Q + first_query;
    if (threadIdx.x < kQueries) {
      counts[threadIdx.x] = 0;
      limits[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) *num_full = 0;
  }

  // Takes what other parts know of the limits; a barrier follows before they are used.
  __device__ void refresh() {
    const int query = static_cast<int>(threadIdx.x);
    if (query >= num_queries) return;
    limits[query] = max(limits[query], atomicMax(shared_limits + query, Key{0}));
  }

  __device__ __forceinline__ void add(int query, Key key) {
    if (key < limits[query]) return;
    const int place = atomicAdd(counts + query, 1);
    keys[query * capacity + place] = key;
    // The next tile may need as much room as this one.
    if (place + 1 + kScanRows > capacity) atomicMax(num_full, 1);
  }

  // Cuts the lists that have no room for another tile; the whole block, after a barrier.
  __device__ void cut_full() {
    if (*num_full == 0) return;
    for (int query = 0; query < num_queries; ++query) {
      if (counts[query] + kScanRows > capacity) cut(query);
    }
    if (threadIdx.x == 0) *num_full = 0;
    __syncthreads();
  }

  __device__ void cut(int query) {
    const int count = counts[query];
    Key* const list = keys + query * capacity;
    for (int i = static_cast<int>(threadIdx.x); i < capacity; i += kThreads) sorted[i] = i < count ? list[i] : 0;
    __syncthreads();
    sort_keys<kThreads>(sorted, capacity);
    for (int i = static_cast<int>(threadIdx.x); i < num_hits; i += kThreads) list[i] = sorted[i];
    if (threadIdx.x == 0) {
      counts[query] = num_hits;
      limits[query] = max(limits[query], sorted[num_hits - 1]);
      atomicMax(shared_limits + query, sorted[num_hits - 1]);
    }
    __syncthreads();
  }

  // Tells the lengths of the lists.
  __device__ void finish() {
    if (static_cast<int>(threadIdx.x) < num_queries) final_counts[threadIdx.x] = counts[threadIdx.x];
  }

  Key *const limits, *const sorted;
  int *const counts, *const num_full;
  const int num_hits;
  // Of the block's first query, in scratch.
  Key *keys, *shared_limits;
  int32_t* final_counts;
  int num_queries, capacity;
};

// Bytes [first, first + kScanBytes) of `count` vectors of `size` bytes to shared memory; zeros where there are none.
template <int kVectors, int kThreads>
__device__ __forceinline__ void fetch_vectors(unsigned char* to, const unsigned char* from, int64_t count, int64_t size,
                                              int64_t first) {
  constexpr int kPieces = kScanBytes / 16;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kVectors * kPieces; i += kThreads) {
    const int vector = i / kPieces, piece = i % kPieces * 16;
    const bool is_there = vector < count && first + piece < size;
    copy_async_16_or_zero(to + vector * kScanStride + piece, is_there ? from + vector * size + first + piece : nullptr,
                          is_there);
  }
}

// sums [32, 64] += queries rows^T over the bytes that are in shared memory.
template <VectorKind kKind>
__device__ __forceinline__ void multiply_vectors(typename VectorProducts<kKind>::Sum (&sums)[2][8][4],
                                                 const unsigned char* queries, const unsigned char* rows) {
  using Products = VectorProducts<kKind>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int c = 0; c < kScanBytes; c += 32) {
    uint32_t left[2][4], right[4];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      load_matrices_x4(left[m], queries + (m * 16 + lane % 16) * kScanStride + c + lane / 16 * 16);
    }
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      load_matrices_x4(right, rows + (n * 16 + lane % 8 + lane / 16 * 8) * kScanStride + c + lane / 8 % 2 * 16);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        Products::multiply(sums[m][2 * n], left[m], right[0], right[1]);
        Products::multiply(sums[m][2 * n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

// A warp's scores of queries from `first_query` of the block and rows from `first_row` of the corpus, to the lists.
template <VectorKind kKind, int kQueries>
__device__ __forceinline__ void add_scores(QueryLists<kQueries>& lists, const VectorSearch& call,
                                           const typename VectorProducts<kKind>::Sum (&sums)[2][8][4], int first_query,
                                           int64_t first_row) {
  using Products = VectorProducts<kKind>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int lane_row = lane % 4 * 2, num_rows = static_cast<int>(min(call.num_rows - first_row, int64_t{64}));
  const auto first_id = static_cast<uint32_t>(first_row);
  float limit[4], query_scale[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int query = first_query + lane / 4 + r * 8;
    const bool is_there = query < lists.num_queries;
    limit[r] = is_there ? score_of_key(lists.limits[query]) : INFINITY;
    query_scale[r] = is_there ? Products::query_scale(call, int64_t{blockIdx.x} * kQueries + query) : NAN;
  }
#pragma unroll
  for (int column = 0; column < 16; ++column) {
    const int row = column / 2 * 8 + lane_row + column % 2;
    if (row >= num_rows) continue;
    const float row_scale = Products::row_scale(call, first_row + row);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const float score = Products::score(sums[r / 2][column / 2][r % 2 * 2 + column % 2], query_scale[r], row_scale);
      const int query = first_query + lane / 4 + r * 8;
      if (score >= limit[r] && query < lists.num_queries) lists.add(query, key_of(score, first_id + row));
    }
  }
}

// The tiles of rows of a block of threads, each with the block's queries, on their way to shared memory.
template <int kQueries>
struct ScanTiles {
  static constexpr int kStageBytes = (kQueries + kScanRows) * kScanStride;

  __device__ ScanTiles(const VectorSearch& call, unsigned char* shared_, int number_bytes)
      : shared(shared_), size(call.width * number_bytes), num_chunks(ceil_divide(size, kScanBytes)) {
    const int64_t first_query = int64_t{blockIdx.x} * kQueries, num_tiles = ceil_divide(call.num_rows, kScanRows);
    first = num_tiles * blockIdx.y / call.num_parts;
    end = num_tiles * (blockIdx.y + 1) / call.num_parts;
    queries = static_cast<const unsigned char*>(call.queries_QE) + first_query * size;
    num_queries = call.num_queries - first_query;
    next_tile = first;
  }

  // The next bytes, if there are any.
  __device__ void fetch(const VectorSearch& call, int stage) {
    constexpr int kThreads = kScanThreads<kQueries>;
    if (next_tile < end) {
      const int64_t row = next_tile * kScanRows, from = next_chunk * kScanBytes;
      unsigned char* const to = shared + stage * kStageBytes;
      fetch_vectors<kQueries, kThreads>(to, queries, num_queries, size, from);
      fetch_vectors<kScanRows, kThreads>(to + kQueries * kScanStride,
                                         static_cast<const unsigned char*>(call.rows_NE) + row * size,
                                         call.num_rows - row, size, from);
      if (++next_chunk == num_chunks) {
        next_chunk = 0;
        ++next_tile;
      }
    }
    copy_async_commit();
  }

  unsigned char* const shared;
  const int64_t size, num_chunks;  // bytes of a vector, and in how many turns they come
  int64_t first, end;              // tiles of this block
  const unsigned char* queries;
  int64_t num_queries;
  int64_t next_tile, next_chunk = 0;
};

// blockIdx: a tile of queries, a part of the rows. Blocks of one part follow each other, so that they find its rows in
// the second-level cache. 16 warps a processor, of 128 registers.
template <VectorKind kKind, int kQueries>
__global__ void __launch_bounds__(kScanThreads<kQueries>, 512 / kScanThreads<kQueries>)
    scan_rows(VectorSearch call, KeyLists lists_of_all) {
  using Products = VectorProducts<kKind>;
  SEEKRL_DYNAMIC_SHARED(unsigned char, shared);
  SEEKRL_SHARED(Key, limits, kQueries);
  SEEKRL_SHARED(int, counts, kQueries);
  SEEKRL_SHARED(int, num_full, 1);
  QueryLists<kQueries> lists(lists_of_all, limits, reinterpret_cast<Key*>(shared + kScanSharedBytes<kQueries>), counts,
                             num_full, static_cast<int>(call.num_hits));
  ScanTiles<kQueries> tiles(call, shared, Products::kNumberBytes);
  const int warp = static_cast<int>(threadIdx.x) / 32, first_query = warp / 2 * 32, first_row = warp % 2 * 64;
  const bool has_queries = first_query < lists.num_queries;
  int stage = 0;
  tiles.fetch(call, stage);
  for (int64_t tile = tiles.first; tile < tiles.end; ++tile) {
    typename Products::Sum sums[2][8][4] = {};
    if ((tile - tiles.first) % kLimitTiles == 0) lists.refresh();
    for (int64_t chunk = 0; chunk < tiles.num_chunks; ++chunk, stage ^= 1) {
      tiles.fetch(call, stage ^ 1);
      copy_async_wait<1>();
      __syncthreads();
      const unsigned char* const from = shared + stage * tiles.kStageBytes;
      if (has_queries) {
        multiply_vectors<kKind>(sums, from + first_query * kScanStride, from + (kQueries + first_row) * kScanStride);
      }
      __syncthreads();
    }
    if (has_queries) add_scores<kKind>(lists, call, sums, first_query, tile * kScanRows + first_row);
    __syncthreads();
    lists.cut_full();
  }
  copy_async_wait<0>();
  lists.finish();
}

}  // namespace seekrl::cuda
