// One request to a vector index, cut into tasks that any threads may run: queries by tiles, rows by ranges.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "search/vectors/dots/dots.h"
#include "search/vectors/vector_index.h"

namespace seekrl::search {

struct VectorRequest {
  int64_t top_k = 10;
  int64_t expansion = 0;   // see SearchOptions
  int64_t over_fetch = 1;  // candidates for each result, where they are scored again
  bool is_exact = false;   // compares with every row, whatever the index
  std::optional<RowSet> excluded;
};

class VectorSearch {
 public:
  // queries_QD: f32, finite. `rescore`: the same vectors in a finer form, which scores the candidates of `index` again;
  // may be null.
  VectorSearch(std::shared_ptr<const VectorIndex> index, std::shared_ptr<const VectorIndex> rescore,
               std::vector<float> queries_QD, VectorRequest request, int num_threads);

  int64_t num_tasks() const { return num_tiles_ * num_ranges_; }
  // Each task once, from any thread.
  void run(int64_t task);

  // After all tasks; [num_queries, top_k], best first, -1 and 0 where fewer were found.
  const std::vector<int32_t>& ids_QK() const { return ids_QK_; }
  const std::vector<float>& scores_QK() const { return scores_QK_; }

 private:
  // What the ranges searched so far have found.
  struct Tile {
    std::mutex mutex;
    std::vector<TopK> best_Q;
    int64_t num_left = 0;
  };

  int64_t num_candidates() const;
  void finish(int64_t tile);
  void score_again(const float* query_D, TopK& best) const;

  std::shared_ptr<const VectorIndex> index_, rescore_;
  std::shared_ptr<const RowSet> removed_;
  std::vector<float> queries_QD_;
  VectorRequest request_;
  SearchOptions options_;
  Dots rescore_dots_;
  int64_t num_queries_, num_rows_, tile_queries_, num_tiles_, num_ranges_;
  std::vector<Tile> tiles_;
  std::vector<int32_t> ids_QK_;
  std::vector<float> scores_QK_;
};

}  // namespace seekrl::search
