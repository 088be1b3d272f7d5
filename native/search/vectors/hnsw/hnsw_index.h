// Approximate search over a navigable graph (HNSW), for corpora too large to compare with every vector.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "search/vectors/hnsw/hnsw_graph.h"
#include "search/vectors/vector_index.h"

namespace seekrl::search {

class HnswIndex : public VectorIndex {
 public:
  HnswIndex(const VectorFormat& format, int64_t capacity, const HnswOptions& options);
  // Maps a saved index, to which nothing can be added, or reads it into memory with room for `capacity` rows.
  static std::unique_ptr<HnswIndex> open(const std::string& path, Verify verify, std::optional<int64_t> capacity);

  // Walks the graph; where so much is excluded that comparing with all the rest is cheaper, does that. The range is
  // that of all rows.
  void search(const float* queries_QD, int64_t num_queries, int64_t begin, int64_t end, const SearchOptions& options,
              TopK* best_Q) const override;
  void save(const std::string& path) const override;

  bool is_divisible() const override { return false; }
  int64_t queries_per_task() const override { return 8; }

  static constexpr BlobKind kKind = {'h', 'n', 's', 'w'};

 private:
  HnswIndex(VectorRows rows, int64_t count, std::unique_ptr<HnswGraph> graph);
  void link(int64_t row) override;
  void search_one(const float* query_D, int64_t num_left, const SearchOptions& options, TopK& best) const;

  std::unique_ptr<HnswGraph> graph_;
  Dots dots_;
};

}  // namespace seekrl::search
