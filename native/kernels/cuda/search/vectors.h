// Exact search of the nearest vectors: every query against every row, without keeping the scores.
//
// The order of hits is total: the higher score first, of equal scores the lower row. It is what makes the result the
// same whatever the order of threads and however the corpus is cut.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

enum class VectorKind : int32_t { kBf16, kInt8, kBinary };

constexpr int64_t kMaxSearchQueries = 512, kMaxSearchHits = 1000;
// A binary row of so many ones is no hit.
constexpr int32_t kHiddenOnes = 1 << 29;

// All pointers are to the GPU's memory; rows and queries begin at multiples of 16 bytes.
struct VectorSearch {
  int32_t* ids_QM = nullptr;      // rows; -1 where there are fewer than M
  float* scores_QM = nullptr;     // of those rows; minus infinity where there is none
  void* scratch = nullptr;        // vector_search_scratch_bytes bytes
  const void* rows_NE = nullptr;  // in kind, contiguous
  const void* queries_QE = nullptr;
  const float* row_scale_N = nullptr;  // of kInt8: a row is its codes times its scale; else null
  const float* query_scale_Q = nullptr;
  int64_t num_rows = 0, num_queries = 0;  // at most 2^31 - 1 rows, kMaxSearchQueries queries
  int64_t width = 0;     // E: a multiple of 16, of kBinary of 128; shorter vectors are filled with zeros
  int64_t num_hits = 0;  // M: 1 to kMaxSearchHits
  // Into how many parts the rows are cut, each for a block of threads and a tile of queries; the result is the same for
  // any. vector_search_parts: four blocks to a processor, whose shared memory holds two at once, three on sm_90 and 100
  // for up to 64 queries.
  int64_t num_parts = 0;
  VectorKind kind = VectorKind::kBf16;
  // Of kBinary: how many bits of each are set, how many stand for -1 or 1 (D, at most 65,536; the rest is filling), and
  // what makes vectors of them have length one.
  const int32_t* row_ones_N = nullptr;
  const int32_t* query_ones_Q = nullptr;
  int64_t dim = 0;
  float binary_scale = 0;
};

// score = q . row: kBf16 on tensor cores with f32 sums in the order of channels, kInt8 with exact sums times row_scale,
// then query_scale, kBinary with (D - 2 bits that differ) binary_scale binary_scale: of the last two the CPU's bits.
// Rows whose score is NaN are no hits. 2 E FLOP a pair; a tile of 64 queries, 128 where there are more, reads the rows
// once. A part keeps for each query a list in scratch and drops what is below the M-th best key that any part has met.
//
// kBinary: bits that differ = ones of q + ones of row - 2 bits set in both, and those are counted on tensor cores.
// 21M x 768 bits and their ones are 2.1 GB, 0.49 ms at 4.3 TB/s. Tensor cores count them for a tile of 64 queries (or
// for fewer, on half of the warps) in 0.41 ms at the 4,992 TOPS of an A100, whose 2.0 TB/s take 1.0 ms: up to 128
// queries memory is the bound, and 512 take 3.3 ms of products, beside which comparing with the limits takes half as
// many cycles. How many a second sm_90 counts is not published. sm_100 and sm_120 have no such product and take that of
// kInt8 at its rate: there products are the bound from the first query on, 2 x 21M x 768 x 64 of them for up to 64
// queries.
Status search_vectors(const VectorSearch& call, void* stream);

int64_t vector_search_parts(int64_t num_rows, int64_t num_queries, int64_t num_processors);

// Q (8 + parts (8 P + 4)) bytes, P the power of two that is at least M + 128: 2 KB a query and part for M = 10, 16 KB
// for M = 1000. 132 processors and 512 queries: 0.14 GB and 1.1 GB.
int64_t vector_search_scratch_bytes(int64_t num_queries, int64_t num_hits, int64_t num_parts);

struct VectorRescore {
  int32_t* ids_QM;  // the best M of the candidates
  float* scores_QM;
  void* scratch;                 // vector_rescore_scratch_bytes bytes
  const int32_t* candidates_QL;  // rows, each once; negative ones are none
  const void* rows_NE;           // in dtype; rows and queries begin at multiples of 16 bytes
  const float* queries_QE;
  int64_t num_candidates, num_queries, width, num_hits;  // L: any; E: a multiple of 8
  Dtype dtype;                                           // kFloat or kBf16
};

// score = q . row in f32: each lane of a warp sums every 32nd eight channels in order, then lanes join as a tree. Moves
// a row a candidate.
Status rescore_vectors(const VectorRescore& call, void* stream);
int64_t vector_rescore_scratch_bytes(int64_t num_queries, int64_t num_candidates);

}  // namespace seekrl::cuda
