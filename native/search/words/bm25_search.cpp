// Statistics of all indexes together; each is searched in turn for what may still be among the best.
#include "search/words/bm25_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace seekrl::search {

namespace {

double inverse_frequency(double num_passages, double passage_frequency) {
  return std::log(1 + (num_passages - passage_frequency + 0.5) / (passage_frequency + 0.5));
}

}  // namespace

Bm25Search::Bm25Search(const Indexes& indexes, const std::vector<int64_t>& excluded) {
  require(!indexes.empty(), ErrorCode::kArgument, "bm25: expected at least one index");
  const Bm25Options options = indexes.front()->options();
  int64_t num_terms = 0;
  for (const auto& index : indexes) {
    const auto& own = index->options();
    require(own.k1 == options.k1 && own.b == options.b, ErrorCode::kArgument, "bm25: expected k1 ", options.k1,
            " and b ", options.b, " as in the first index, got ", own.k1, " and ", own.b);
    parts_.push_back({index, num_passages_, {{}, {}}, 1});
    num_passages_ += index->count();
    num_terms += index->num_terms();
  }
  require(num_passages_ <= std::numeric_limits<int32_t>::max(), ErrorCode::kRange, "bm25: too many passages");
  if (!excluded.empty()) excluded_.emplace(num_passages_);
  for (const int64_t passage : excluded) {
    require(passage >= 0 && passage < num_passages_, ErrorCode::kRange, "excluded: expected 0 to ", num_passages_ - 1,
            ", got ", passage);
    excluded_->insert(passage);
  }
  const double average = average_length(num_passages_, num_terms);
  for (auto& part : parts_) {
    for (int64_t i = 0; i < part.index->num_pairs(); ++i) {
      part.impacts.exact.push_back(impact(part.index->pairs()[i], options, average));
      part.impacts.rounded.push_back(static_cast<float>(part.impacts.exact.back()));
    }
    // A longer average length raises an impact by less than its own growth.
    part.bound_factor = std::max(1.0, average / average_length(part.index->count(), part.index->num_terms()));
  }
}

Bm25Search::Indexes Bm25Search::indexes() const {
  Indexes indexes;
  for (const auto& part : parts_) indexes.push_back(part.index);
  return indexes;
}

void Bm25Search::search(const std::vector<const Meaning*>& text, int64_t top_k, int32_t* ids, float* scores) const {
  Bm25Query query(text);
  std::vector<std::vector<Postings>> postings(parts_.size());
  for (const uint64_t term : query.terms) {
    double frequency = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      postings[i].push_back(parts_[i].index->find(term));
      frequency += postings[i].back().count;
    }
    query.idf.push_back(inverse_frequency(static_cast<double>(num_passages_), frequency));
  }
  BestPassages best(top_k, 0);
  const RowSet* excluded = excluded_ ? &*excluded_ : nullptr;
  for (size_t i = 0; i < parts_.size(); ++i) search_part(parts_[i], query, postings[i], excluded, best);
  best.take(ids, scores);
}

}  // namespace seekrl::search
