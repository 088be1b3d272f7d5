// Search by comparing with every vector: the reference, and the right choice up to some hundred thousand.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "search/vectors/vector_index.h"

namespace seekrl::search {

// Compares f32 queries_QD with the rows [begin, end) that `options` does not exclude.
void scan_rows(const VectorRows& rows, const float* queries_QD, int64_t num_queries, int64_t begin, int64_t end,
               const SearchOptions& options, TopK* best_Q);

class ExactIndex : public VectorIndex {
 public:
  ExactIndex(const VectorFormat& format, int64_t capacity);
  // Maps a saved index, to which nothing can be added, or reads it into memory with room for `capacity` rows.
  static std::unique_ptr<ExactIndex> open(const std::string& path, Verify verify, std::optional<int64_t> capacity);

  void search(const float* queries_QD, int64_t num_queries, int64_t begin, int64_t end, const SearchOptions& options,
              TopK* best_Q) const override;
  void save(const std::string& path) const override;

  // A tile of queries is multiplied with each block of rows while that is in the cache.
  bool is_divisible() const override { return true; }
  int64_t queries_per_task() const override { return 32; }

  static constexpr BlobKind kKind = {'f', 'l', 'a', 't'};

 private:
  ExactIndex(VectorRows rows, int64_t count, std::optional<Blob> blob);
  void link(int64_t) override {}
};

}  // namespace seekrl::search
