// Exact search of vectors, and the second scoring of candidates.
#include <algorithm>
#include <cmath>

#include "fixtures.h"

namespace seekrl::bench {

using cuda::Dtype;

namespace {

struct Shape {
  cuda::VectorKind kind;
  int64_t num_rows, width, num_queries, num_hits;
};

struct KindOfRows {
  cuda::VectorKind kind;
  std::string name;
  int64_t row_bytes;
};

Prepared prepare_search(Memory& memory, const Shape& shape) {
  const auto& [kind, num_rows, width, num_queries, num_hits] = shape;
  const bool is_bf16 = kind == cuda::VectorKind::kBf16;
  const bool is_binary = kind == cuda::VectorKind::kBinary;
  const int64_t parts = cuda::vector_search_parts(num_rows, num_queries, num_processors());
  auto* const ids = memory.empty<int32_t>(num_queries * num_hits);
  float* const scores = memory.floats(num_queries * num_hits);
  cuda::VectorSearch call = {};
  call.ids_QM = ids;
  call.scores_QM = scores;
  call.scratch = memory.bytes(cuda::vector_search_scratch_bytes(num_queries, num_hits, parts));
  const int64_t codes = is_binary ? width / 8 : width;
  call.rows_NE = is_bf16 ? memory.halves(num_rows * width) : memory.codes(num_rows * codes);
  void* const queries = is_bf16 ? memory.halves(num_queries * width) : memory.codes(num_queries * codes);
  call.queries_QE = queries;
  if (is_binary) {
    // As many as there are of random bits on average.
    call.row_ones_N = memory.copy_of(std::vector<int32_t>(num_rows, static_cast<int32_t>(width / 2)));
    call.query_ones_Q = memory.copy_of(std::vector<int32_t>(num_queries, static_cast<int32_t>(width / 2)));
    call.dim = width;
    call.binary_scale = 1 / std::sqrt(static_cast<float>(width));
  } else if (!is_bf16) {
    call.row_scale_N = memory.floats(num_rows, 0.25f, 1);
    call.query_scale_Q = memory.floats(num_queries, 0.25f, 1);
  }
  // Each query is a row: nothing is nearer to it.
  const int64_t row_bytes = is_bf16 ? 2 * width : codes;
  const auto row_of = [num_rows = num_rows](int64_t query) { return num_rows - 1 - query * 7919 % num_rows; };
  for (int64_t q = 0; q < num_queries; ++q) {
    const auto* const rows = static_cast<const uint8_t*>(call.rows_NE);
    const std::vector<uint8_t> row = read_back(rows + row_of(q) * row_bytes, row_bytes);
    memory.write(static_cast<uint8_t*>(queries) + q * row_bytes, row.data(), row_bytes);
  }
  call.num_rows = num_rows;
  call.num_queries = num_queries;
  call.width = width;
  call.num_hits = num_hits;
  call.num_parts = parts;
  call.kind = kind;
  Calls run;
  SEEKRL_ADD(run, search_vectors, call);
  // Sums of bf16 are rounded in the tensor cores' way: neighbours that are equally near may change places.
  std::vector<Output> outputs = {{"scores", scores, num_queries * num_hits, Kind::kFloat, is_bf16 ? 1e-4 : 0}};
  if (!is_bf16) outputs.push_back({"ids", ids, num_queries * num_hits, Kind::kInt, 0});
  const auto wrong = [=, num_queries = num_queries, num_hits = num_hits]() -> std::string {
    const std::vector<uint8_t> found = read_back(ids, num_queries * num_hits * 4);
    for (int64_t q = 0; q < num_queries; ++q) {
      const auto id = static_cast<int64_t>(number_at(found, Kind::kInt, q * num_hits));
      if (id == row_of(q)) continue;
      return "query " + std::to_string(q) + ": row " + std::to_string(id) + ", expected " + std::to_string(row_of(q));
    }
    return "";
  };
  return {run, outputs, wrong};
}

Prepared prepare_rescore(Memory& memory, int64_t num_rows, int64_t width, int64_t num_queries, int64_t num_candidates) {
  constexpr int64_t kHits = 10;
  std::vector<int32_t> candidates(num_queries * num_candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    // Each row once for a query, far from the last.
    candidates[i] = static_cast<int32_t>((static_cast<int64_t>(i) * 7919) % num_rows);
  }
  auto* const ids = memory.empty<int32_t>(num_queries * kHits);
  float* const scores = memory.floats(num_queries * kHits);
  const cuda::VectorRescore call = {ids,
                                    scores,
                                    memory.bytes(cuda::vector_rescore_scratch_bytes(num_queries, num_candidates)),
                                    memory.copy_of(candidates),
                                    memory.halves(num_rows * width),
                                    memory.floats(num_queries * width),
                                    num_candidates,
                                    num_queries,
                                    width,
                                    kHits,
                                    Dtype::kBf16};
  Calls run;
  SEEKRL_ADD(run, rescore_vectors, call);
  return {run, {{"scores", scores, num_queries * kHits, Kind::kFloat, 1e-5}}};
}

}  // namespace

void add_search_cases(Cases& cases, bool is_tiny) {
  const int64_t width = is_tiny ? 128 : 768;
  int64_t num_rows = is_tiny ? 700 : 21'000'000;
  // As many of them as there is memory for; the rate is that of so many rows.
  if (!is_tiny && is_gpu())
    num_rows = std::min(num_rows, (free_bytes() - (int64_t{6} << 30)) / (2 * width) / 1000 * 1000);
  if (num_rows <= 0) return;
  for (const auto& [kind, name, row_bytes] :
       {KindOfRows{cuda::VectorKind::kBf16, "bf16", 2 * width}, KindOfRows{cuda::VectorKind::kInt8, "int8", width + 4},
        KindOfRows{cuda::VectorKind::kBinary, "bits", width / 8 + 4}}) {
    for (const int64_t queries : is_tiny ? std::vector<int64_t>{3, 70} : std::vector<int64_t>{1, 64, 512}) {
      const Shape shape{kind, num_rows, width, queries, 10};
      const auto bytes = static_cast<double>(num_rows * row_bytes);
      const double flop = 2 * static_cast<double>(num_rows * width) * static_cast<double>(queries);
      cases.push_back({"exact search, " + std::to_string(num_rows) + " x " + std::to_string(width) + " " + name + ", " +
                           std::to_string(queries) + " queries",
                       static_cast<double>(queries), "query", bytes, flop, bytes + 2e9,
                       [shape](Memory& memory) { return prepare_search(memory, shape); }});
    }
  }
  const int64_t rescored = is_tiny ? 701 : 1'000'003, candidates = is_tiny ? 50 : 1000, queries = is_tiny ? 3 : 64;
  cases.push_back({"score " + std::to_string(candidates) + " candidates again, " + std::to_string(queries) + " queries",
                   static_cast<double>(queries), "query", 2.0 * static_cast<double>(queries * candidates * width), 0,
                   2.0 * static_cast<double>(rescored * width) + 1e9,
                   [=](Memory& memory) { return prepare_rescore(memory, rescored, width, queries, candidates); }});
}

}  // namespace seekrl::bench
