// Rows and their graph in one file; a walk that finds too little is repeated with more candidates.
#include "search/vectors/hnsw/hnsw_index.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "search/vectors/exact_index.h"

namespace seekrl::search {

HnswIndex::HnswIndex(const VectorFormat& format, int64_t capacity, const HnswOptions& options)
    : HnswIndex((check_format(format), VectorRows(format, capacity)), 0,
                std::make_unique<HnswGraph>(options, capacity)) {}

HnswIndex::HnswIndex(VectorRows rows, int64_t count, std::unique_ptr<HnswGraph> graph)
    : VectorIndex(std::move(rows), count, std::nullopt), graph_(std::move(graph)), dots_(dots_of(format().scalar)) {}

std::unique_ptr<HnswIndex> HnswIndex::open(const std::string& path, Verify verify, std::optional<int64_t> capacity) {
  Blob blob(path, kKind, verify);
  const int64_t count = blob.numbers()[0];
  VectorRows rows = read_rows(path, blob, capacity);
  const size_t graph_at = VectorRows::section_bytes(rows.format(), count);
  auto graph = std::make_unique<HnswGraph>(blob.payload() + graph_at, blob.payload_bytes() - graph_at, count);
  const size_t num_bytes = graph_at + graph->section_bytes(count);
  if (capacity) graph = std::make_unique<HnswGraph>(*graph, count, *capacity);
  std::unique_ptr<HnswIndex> index(new HnswIndex(std::move(rows), count, std::move(graph)));
  index->read_removed(path, blob, num_bytes);
  if (!capacity) index->blob_.emplace(std::move(blob));
  return index;
}

void HnswIndex::link(int64_t row) { graph_->insert(static_cast<uint32_t>(row), rows_, dots_); }

void HnswIndex::search(const float* queries_QD, int64_t num_queries, int64_t, int64_t, const SearchOptions& options,
                       TopK* best_Q) const {
  const int64_t num_excluded = options.excluded == nullptr ? 0 : options.excluded->count();
  const int64_t num_left = std::max<int64_t>(0, count() - num_excluded);
  for (int64_t q = 0; q < num_queries; ++q) {
    search_one(queries_QD + q * format().dim, num_left, options, best_Q[q]);
  }
}

void HnswIndex::search_one(const float* query_D, int64_t num_left, const SearchOptions& options, TopK& best) const {
  const int64_t wanted = std::min(options.top_k, num_left);
  if (wanted == 0) return;
  const int64_t asked = options.expansion > 0 ? options.expansion : graph_->options().expansion_search;
  // Among the candidates of a walk only the share that is not excluded counts.
  double expansion =
      static_cast<double>(std::max(asked, wanted)) * static_cast<double>(count()) / static_cast<double>(num_left);
  const StoredQuery query(format(), query_D);
  for (;; expansion *= 2) {
    // A step of a walk compares with about `connectivity` rows that it has not met.
    if (expansion * static_cast<double>(graph_->options().connectivity) >= static_cast<double>(num_left)) {
      return scan_rows(rows_, query_D, 1, 0, count(), options, &best);
    }
    const auto found = graph_->walk(query, rows_, dots_, static_cast<int64_t>(expansion));
    int64_t num_found = 0;
    for (const Near& each : found) {
      const auto offer = [&](uint32_t row) {
        if (options.excluded != nullptr && options.excluded->has(row)) return;
        best.offer({each.score, static_cast<int32_t>(row)});
        ++num_found;
      };
      offer(each.row);
      graph_->for_each_twin(each.row, offer);
    }
    if (num_found >= wanted) return;
    best.clear();
  }
}

void HnswIndex::save(const std::string& path) const {
  BlobWriter file(path, kKind);
  rows_.write(file, count());
  graph_->write(file, count());
  write_removed(file);
  file.finish(numbers_of(*this));
}

}  // namespace seekrl::search
