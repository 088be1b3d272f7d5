// Launches: limits cleared, rows scanned or candidates scored, the best selected.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/search/scan.cuh"
#include "kernels/cuda/search/vectors.h"

namespace seekrl::cuda {

namespace {

constexpr int kRescoreThreads = 128;
// Counts times D are exact in f32, and far from a hidden row's.
constexpr int64_t kMaxBinaryDim = 65536;

__global__ void clear_limits(KeyLists lists, int32_t count) {
  const int64_t query = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (query >= lists.num_queries) return;
  lists.limits_Q[query] = 0;
  if (count > 0) lists.counts[query] = count;
}

// A warp a candidate.
template <class Number>
__global__ void __launch_bounds__(kRescoreThreads) rescore_rows(VectorRescore call, KeyLists lists) {
  const int64_t at = int64_t{blockIdx.x} * (kRescoreThreads / 32) + threadIdx.x / 32;
  if (at >= call.num_queries * call.num_candidates) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t row = call.candidates_QL[at];
  if (row < 0) {
    if (lane == 0) lists.keys[at] = 0;
    return;
  }
  const float* const query = call.queries_QE + at / call.num_candidates * call.width;
  const auto* const numbers = static_cast<const Number*>(call.rows_NE) + row * call.width;
  float sum = 0;
  for (int64_t c = lane * 8; c < call.width; c += 32 * 8) {
    float x[8], y[8];
    load_8(x, query + c);
    load_8(y, numbers + c);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += x[i] * y[i];
  }
  const float score = reduce_warp<Sum>(sum);
  if (lane == 0) lists.keys[at] = score == score ? key_of(score, static_cast<uint32_t>(row)) : 0;
}

Status clear(const KeyLists& lists, int64_t count, void* stream) {
  return launch(&clear_limits, dim3(blocks_of(lists.num_queries, 128)), dim3(128), 0, stream, lists,
                static_cast<int32_t>(count));
}

Status select(int32_t* ids_QM, float* scores_QM, const KeyLists& lists, int64_t num_hits, void* stream) {
  const int64_t capacity = sorted_capacity(num_hits);
  return launch(&select_best, dim3(static_cast<unsigned>(lists.num_queries)), dim3(kSelectThreads),
                static_cast<size_t>(capacity) * 8, stream, ids_QM, scores_QM, lists, static_cast<int>(num_hits),
                static_cast<int>(capacity));
}

// Queries of a block: many share what is read of the rows, few leave no warps without work.
constexpr int64_t kFewQueries = 64, kManyQueries = 128;

int64_t queries_of_tile(int64_t num_queries) { return num_queries > kFewQueries ? kManyQueries : kFewQueries; }

template <VectorKind kKind, int kQueries>
Status scan(const VectorSearch& call, const KeyLists& lists, void* stream) {
  const dim3 grid(blocks_of(call.num_queries, kQueries), static_cast<unsigned>(call.num_parts));
  const auto shared_bytes = static_cast<size_t>(kScanSharedBytes<kQueries> + lists.capacity * 8);
  return launch(&scan_rows<kKind, kQueries>, grid, dim3(kScanThreads<kQueries>), shared_bytes, stream, call, lists);
}

template <VectorKind kKind>
Status scan(const VectorSearch& call, const KeyLists& lists, void* stream) {
  if (queries_of_tile(call.num_queries) == kFewQueries) return scan<kKind, kFewQueries>(call, lists, stream);
  return scan<kKind, kManyQueries>(call, lists, stream);
}

Status check(const VectorSearch& call) {
  if (call.num_queries < 0 || call.num_queries > kMaxSearchQueries) return "search: expected at most 512 queries";
  if (call.num_rows < 0 || call.num_rows > INT32_MAX) return "search: expected at most 2^31 - 1 rows";
  if (call.num_hits < 1 || call.num_hits > kMaxSearchHits) return "search: expected 1 to 1,000 hits";
  const bool is_binary = call.kind == VectorKind::kBinary;
  const int64_t unit = is_binary ? 128 : 16;
  if (call.width < unit || call.width % unit != 0)
    return is_binary ? "search: expected a width of bits that is a multiple of 128"
                     : "search: expected a width that is a multiple of 16";
  if (is_binary && (call.dim < 1 || call.dim > min(call.width, kMaxBinaryDim)))
    return "search: expected a dim of bits of at most their width and 65,536";
  if (!are_aligned({call.rows_NE, call.queries_QE})) return "search: expected vectors at multiples of 16 bytes";
  if (call.num_parts < 1 || call.num_parts > 65535) return "search: expected 1 to 65,535 parts";
  return nullptr;
}

}  // namespace

Status search_vectors(const VectorSearch& call, void* stream) {
  Status status = check(call);
  if (status != nullptr || call.num_queries == 0) return status;
  const KeyLists lists = lists_in(call.scratch, call.num_queries, call.num_parts, sorted_capacity(call.num_hits));
  status = clear(lists, 0, stream);
  if (status != nullptr) return status;
  switch (call.kind) {
    case VectorKind::kBf16: status = scan<VectorKind::kBf16>(call, lists, stream); break;
    case VectorKind::kInt8: status = scan<VectorKind::kInt8>(call, lists, stream); break;
    case VectorKind::kBinary: status = scan<VectorKind::kBinary>(call, lists, stream); break;
  }
  return status != nullptr ? status : select(call.ids_QM, call.scores_QM, lists, call.num_hits, stream);
}

int64_t vector_search_parts(int64_t num_rows, int64_t num_queries, int64_t num_processors) {
  const int64_t num_tiles = blocks_of(num_rows, kScanRows);
  const int64_t wanted = 4 * num_processors / blocks_of(num_queries, queries_of_tile(num_queries));
  return max(int64_t{1}, min(wanted, num_tiles));
}

int64_t vector_search_scratch_bytes(int64_t num_queries, int64_t num_hits, int64_t num_parts) {
  return key_list_bytes(num_queries, num_parts, sorted_capacity(num_hits));
}

Status rescore_vectors(const VectorRescore& call, void* stream) {
  if (call.num_hits < 1 || call.num_hits > kMaxSearchHits) return "rescore: expected 1 to 1,000 hits";
  if (call.width < 8 || call.width % 8 != 0) return "rescore: expected a width that is a multiple of 8";
  if (call.num_candidates < 1) return "rescore: expected candidates";
  if (!are_aligned({call.rows_NE, call.queries_QE})) return "rescore: expected vectors at multiples of 16 bytes";
  if (call.num_queries == 0) return nullptr;
  const KeyLists lists = lists_in(call.scratch, call.num_queries, 1, call.num_candidates);
  Status status = clear(lists, call.num_candidates, stream);
  if (status != nullptr) return status;
  const dim3 grid(blocks_of(call.num_queries * call.num_candidates, kRescoreThreads / 32));
  switch (call.dtype) {
    case Dtype::kFloat:
      status = launch(&rescore_rows<float>, grid, dim3(kRescoreThreads), 0, stream, call, lists);
      break;
    case Dtype::kBf16: status = launch(&rescore_rows<Bf16>, grid, dim3(kRescoreThreads), 0, stream, call, lists); break;
    default: return "rescore: expected rows in f32 or bf16";
  }
  return status != nullptr ? status : select(call.ids_QM, call.scores_QM, lists, call.num_hits, stream);
}

int64_t vector_rescore_scratch_bytes(int64_t num_queries, int64_t num_candidates) {
  return key_list_bytes(num_queries, 1, num_candidates);
}

}  // namespace seekrl::cuda
