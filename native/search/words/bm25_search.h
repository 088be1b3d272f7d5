// Searches BM25 indexes as if they were one: document frequencies and the average length are those of all together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/vectors/row_set.h"
#include "search/words/bm25_part.h"

namespace seekrl::search {

class Bm25Search {
 public:
  using Indexes = std::vector<std::shared_ptr<const Bm25Index>>;

  // At least one index, all with the same options: else ERR_ARGUMENT.
  // `excluded`: numbers of passages that are never found; document frequencies and lengths count them all the same.
  explicit Bm25Search(const Indexes& indexes, const std::vector<int64_t>& excluded = {});

  // Sums over the query's terms in double, in their order, a repeated term as often as it stands there. Writes `top_k`
  // ids and scores, best first, among equal scores the lower id; -1 and 0 where fewer passages hold a term of the
  // query. The passages of an index are numbered on from those of the index before. From any thread.
  void search(const std::vector<const Meaning*>& query, int64_t top_k, int32_t* ids, float* scores) const;

  int64_t count() const { return num_passages_; }
  Indexes indexes() const;

 private:
  std::vector<Bm25Part> parts_;
  int64_t num_passages_ = 0;
  std::optional<RowSet> excluded_;  // absent when it would be empty
};

}  // namespace seekrl::search
