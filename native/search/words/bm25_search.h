// Searches BM25 indexes as if they were one: document frequencies and the average length are those of all together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/vectors/row_set.h"
#include "search/words/bm25_part.h"

namespace seekrl::search {

// A corpus that the indexes are a part of; the rest of it is elsewhere.
struct Bm25Whole {
  int64_t num_passages, num_terms;
};

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

  // In how many passages here each different term of a query stands, in the order in which they come first.
  std::vector<double> frequencies(const std::vector<const Meaning*>& query) const;

  // The same passages as a part of a whole, which has at least as many: its lengths are averaged.
  std::shared_ptr<Bm25Search> within(const Bm25Whole& whole) const;

  // The same search with the whole's frequencies in the form of `frequencies`; scores are not rounded, since those of
  // the other parts are to be compared with them. ERR_ARGUMENT for frequencies of another query.
  void search_part_of_whole(const std::vector<const Meaning*>& query, const std::vector<double>& frequencies,
                            int64_t top_k, int32_t* ids, double* scores) const;

  int64_t count() const { return num_passages_; }
  int64_t num_terms() const { return num_terms_; }
  Indexes indexes() const;

 private:
  using PostingsOfTerms = std::vector<Postings>;

  void weigh(const Bm25Whole& whole);
  std::vector<PostingsOfTerms> find(const Bm25Query& query) const;
  static std::vector<double> frequencies_in(const std::vector<PostingsOfTerms>& postings, size_t num_terms);
  template <class Score>
  void search_all(Bm25Query& query, const std::vector<PostingsOfTerms>& postings,
                  const std::vector<double>& frequencies, int64_t top_k, int32_t* ids, Score* scores) const;

  std::vector<Bm25Part> parts_;
  int64_t num_passages_ = 0, num_terms_ = 0;
  Bm25Whole whole_ = {0, 0};
  std::optional<RowSet> excluded_;  // absent when it would be empty
};

}  // namespace seekrl::search
