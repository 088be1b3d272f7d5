// A block of threads has a tile of queries and a part of the rows, which pass by in tiles; scores stay in registers
// until they are found below what is already known, or join their query's list.
#pragma once

#include "kernels/cuda/search/best.cuh"
#include "kernels/cuda/search/products.cuh"

namespace seekrl::cuda {

// A warp multiplies 32 queries by 64 rows; two warps stand side by side.
constexpr int kScanRows = 128;
// Tiles of rows between two looks at what other parts know.
constexpr int kLimitTiles = 16;

template <int kQueries>
constexpr int kScanThreads = kQueries * 2;
template <int kQueries>
constexpr int kScanSharedBytes = 2 * (kQueries + kScanRows) * kScanStride;

// A list has room for num_hits keys and a tile more.
static_assert(kScanRows == kSelectThreads);

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

// A warp's products with queries from `first_query` of the block and rows from `first_row` of the corpus: scores that
// can be hits go to the lists. `rows`: what these have beside their numbers.
template <VectorKind kKind, int kQueries>
__device__ __forceinline__ void add_scores(QueryLists<kQueries>& lists, const VectorSearch& call,
                                           const typename VectorProducts<kKind>::Sum (&sums)[2][8][4],
                                           const typename VectorProducts<kKind>::Row* rows, int first_query,
                                           int64_t first_row) {
  using Products = VectorProducts<kKind>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int lane_row = lane % 4 * 2, num_rows = static_cast<int>(min(call.num_rows - first_row, int64_t{64}));
  const auto row_of = [&](int column) { return column / 2 * 8 + lane_row + column % 2; };
  const auto row_at = [&](int row) { return Products::kHasRows ? rows[row] : typename Products::Row{}; };
  typename Products::Query queries[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int query = first_query + lane / 4 + r * 8;
    queries[r] = query >= lists.num_queries
                     ? Products::no_query()
                     : Products::query(call, int64_t{blockIdx.x} * kQueries + query, score_of_key(lists.limits[query]));
  }
  // Almost never is there one.
  bool has_hits = false;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int column = i / 4, r = i % 4;
    has_hits |= Products::is_hit(sums[r / 2][column / 2][r % 2 * 2 + column % 2], queries[r], row_at(row_of(column)));
  }
  if (!has_hits) return;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int column = i / 4, r = i % 4, row = row_of(column), query = first_query + lane / 4 + r * 8;
    if (row >= num_rows || query >= lists.num_queries) continue;
    const float score =
        Products::score(sums[r / 2][column / 2][r % 2 * 2 + column % 2], queries[r], row_at(row), call.binary_scale);
    if (score == score) lists.add(query, key_of(score, static_cast<uint32_t>(first_row) + row));
  }
}

// The tiles of rows of a block of threads, each with the block's queries, on their way to shared memory.
template <int kQueries>
struct ScanTiles {
  static constexpr int kStageBytes = (kQueries + kScanRows) * kScanStride;

  __device__ ScanTiles(const VectorSearch& call, unsigned char* shared_, int64_t size_)
      : shared(shared_), size(size_), num_chunks(static_cast<int>(ceil_divide(size, kScanBytes))) {
    const int64_t first_query = int64_t{blockIdx.x} * kQueries, num_tiles = ceil_divide(call.num_rows, kScanRows);
    first = static_cast<int>(num_tiles * blockIdx.y / call.num_parts);
    end = static_cast<int>(num_tiles * (blockIdx.y + 1) / call.num_parts);
    queries = static_cast<const unsigned char*>(call.queries_QE) + first_query * size;
    num_queries = call.num_queries - first_query;
    next_tile = first;
    last_with_queries = num_chunks <= 2 ? first + 2 - num_chunks : end;
  }

  // The next bytes, if there are any.
  __device__ void fetch(const VectorSearch& call, int stage) {
    constexpr int kThreads = kScanThreads<kQueries>;
    if (next_tile < end) {
      const int64_t row = int64_t{next_tile} * kScanRows, from = int64_t{next_chunk} * kScanBytes;
      unsigned char* const to = shared + stage * kStageBytes;
      if (next_tile <= last_with_queries) fetch_vectors<kQueries, kThreads>(to, queries, num_queries, size, from);
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
  const int64_t size;    // bytes of a vector
  const int num_chunks;  // in how many turns they come
  int first, end;        // tiles of this block
  const unsigned char* queries;
  int64_t num_queries;
  // Where two stages hold all of the queries' bytes, they stay there.
  int last_with_queries;
  int next_tile, next_chunk = 0;
};

// What the rows of a tile have beside their numbers: thread i has row i's, one tile ahead of the products.
template <VectorKind kKind>
struct RowsAhead {
  using Row = typename VectorProducts<kKind>::Row;

  __device__ RowsAhead(const VectorSearch& call, int tile) { read(call, tile); }
  __device__ __forceinline__ void read(const VectorSearch& call, int tile) {
    if (VectorProducts<kKind>::kHasRows)
      ahead = VectorProducts<kKind>::row(call, int64_t{tile} * kScanRows + threadIdx.x);
  }
  // That of `tile` to shared memory, a barrier behind its last reader and one before its next.
  __device__ __forceinline__ void put(Row* rows, const VectorSearch& call, int tile) {
    if (!VectorProducts<kKind>::kHasRows || threadIdx.x >= kScanRows) return;
    rows[threadIdx.x] = ahead;
    read(call, tile + 1);
  }

  Row ahead;
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
  SEEKRL_SHARED(typename Products::Row, rows, Products::kHasRows ? kScanRows : 1);
  QueryLists<kQueries> lists(lists_of_all, limits, reinterpret_cast<Key*>(shared + kScanSharedBytes<kQueries>), counts,
                             num_full, static_cast<int>(call.num_hits));
  ScanTiles<kQueries> tiles(call, shared, Products::bytes(call.width));
  RowsAhead<kKind> rows_ahead(call, tiles.first);
  const int warp = static_cast<int>(threadIdx.x) / 32, first_query = warp / 2 * 32, first_row = warp % 2 * 64;
  const bool has_queries = first_query < lists.num_queries;
  int stage = 0;
  tiles.fetch(call, stage);
  for (int tile = tiles.first; tile < tiles.end; ++tile) {
    typename Products::Sum sums[2][8][4] = {};
    rows_ahead.put(rows, call, tile);
    if ((tile - tiles.first) % kLimitTiles == 0) lists.refresh();
    for (int chunk = 0; chunk < tiles.num_chunks; ++chunk, stage ^= 1) {
      tiles.fetch(call, stage ^ 1);
      copy_async_wait<1>();
      __syncthreads();
      const unsigned char* const from = shared + stage * tiles.kStageBytes;
      if (has_queries) {
        multiply_vectors<Products>(sums, from + first_query * kScanStride, from + (kQueries + first_row) * kScanStride,
                                   tiles.size - int64_t{chunk} * kScanBytes);
      }
      __syncthreads();
    }
    if (has_queries)
      add_scores<kKind>(lists, call, sums, rows + first_row, first_query, int64_t{tile} * kScanRows + first_row);
    __syncthreads();
    lists.cut_full();
  }
  copy_async_wait<0>();
  lists.finish();
}

}  // namespace seekrl::cuda
