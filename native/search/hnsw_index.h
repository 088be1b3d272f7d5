// Approximate search over a navigable graph (HNSW), for corpora too large to compare with every vector.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "search/vector_index.h"

namespace seekrl::search {

struct HnswOptions {
  int64_t connectivity = 32;       // neighbours of a node; twice as many on the ground level
  int64_t expansion_add = 128;     // candidates kept while inserting
  int64_t expansion_search = 128;  // candidates kept while searching: recall against time
};

class HnswIndex : public VectorIndex {
 public:
  // num_threads: how many may add or search at once.
  HnswIndex(VectorFormat format, int64_t capacity, const HnswOptions& options, int num_threads);
  ~HnswIndex() override;
  // Maps a saved index; nothing can be added to it.
  static std::unique_ptr<HnswIndex> open(const std::string& path, Verify verify, int num_threads);

  void add(int64_t first, const float* vectors_ND, int64_t num_vectors) override;
  void search(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
              float* scores_QK) const override;
  void save(const std::string& path) const override;

  int64_t queries_per_task() const override { return 1; }
  bool is_mapped() const override;
  int64_t count() const override;
  int64_t capacity() const override { return capacity_; }
  const VectorFormat& format() const override { return format_; }

  static constexpr BlobKind kKind = {'h', 'n', 's', 'w'};

 private:
  struct Graph;  // usearch, whose header only one file includes

  VectorFormat format_;
  int64_t capacity_;
  HnswOptions options_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace seekrl::search
