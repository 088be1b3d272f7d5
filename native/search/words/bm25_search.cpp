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
  for (const auto& index : indexes) {
    const auto& own = index->options();
    require(own.k1 == options.k1 && own.b == options.b, ErrorCode::kArgument, "bm25: expected k1 ", options.k1,
            " and b ", options.b, " as in the first index, got ", own.k1, " and ", own.b);
    parts_.push_back({index, num_passages_, {{}, {}}, 1});
    num_passages_ += index->count();
    num_terms_ += index->num_terms();
  }
  require(num_passages_ <= std::numeric_limits<int32_t>::max(), ErrorCode::kRange, "bm25: too many passages");
  if (!excluded.empty()) excluded_.emplace(num_passages_);
  for (const int64_t passage : excluded) {
    require(passage >= 0 && passage < num_passages_, ErrorCode::kRange, "excluded: expected 0 to ", num_passages_ - 1,
            ", got ", passage);
    excluded_->insert(passage);
  }
  weigh({num_passages_, num_terms_});
}

void Bm25Search::weigh(const Bm25Whole& whole) {
  whole_ = whole;
  const double average = average_length(whole.num_passages, whole.num_terms);
  for (auto& part : parts_) {
    part.impacts = {{}, {}};
    for (int64_t i = 0; i < part.index->num_pairs(); ++i) {
      part.impacts.exact.push_back(impact(part.index->pairs()[i], part.index->options(), average));
      part.impacts.rounded.push_back(static_cast<float>(part.impacts.exact.back()));
    }
    // A longer average length raises an impact by less than its own growth.
    part.bound_factor = std::max(1.0, average / average_length(part.index->count(), part.index->num_terms()));
  }
}

std::shared_ptr<Bm25Search> Bm25Search::within(const Bm25Whole& whole) const {
  require(whole.num_passages >= num_passages_, ErrorCode::kRange, "numPassages: expected at least the part's ",
          num_passages_, ", got ", whole.num_passages);
  require(whole.num_terms >= num_terms_, ErrorCode::kRange, "numTerms: expected at least the part's ", num_terms_,
          ", got ", whole.num_terms);
  auto part = std::make_shared<Bm25Search>(*this);
  part->weigh(whole);
  return part;
}

Bm25Search::Indexes Bm25Search::indexes() const {
  Indexes indexes;
  for (const auto& part : parts_) indexes.push_back(part.index);
  return indexes;
}

std::vector<Bm25Search::PostingsOfTerms> Bm25Search::find(const Bm25Query& query) const {
  std::vector<PostingsOfTerms> postings(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    for (const uint64_t term : query.terms) postings[i].push_back(parts_[i].index->find(term));
  }
  return postings;
}

std::vector<double> Bm25Search::frequencies_in(const std::vector<PostingsOfTerms>& postings, size_t num_terms) {
  std::vector<double> frequencies(num_terms);
  for (const auto& part : postings) {
    for (size_t term = 0; term < num_terms; ++term) frequencies[term] += part[term].count;
  }
  return frequencies;
}

std::vector<double> Bm25Search::frequencies(const std::vector<const Meaning*>& text) const {
  const Bm25Query query(text);
  return frequencies_in(find(query), query.terms.size());
}

template <class Score>
void Bm25Search::search_all(Bm25Query& query, const std::vector<PostingsOfTerms>& postings,
                            const std::vector<double>& frequencies, int64_t top_k, int32_t* ids, Score* scores) const {
  const auto num_passages = static_cast<double>(whole_.num_passages);
  for (const double frequency : frequencies) query.idf.push_back(inverse_frequency(num_passages, frequency));
  BestPassages best(top_k, 0);
  const RowSet* excluded = excluded_ ? &*excluded_ : nullptr;
  for (size_t i = 0; i < parts_.size(); ++i) search_part(parts_[i], query, postings[i], excluded, best);
  best.take(ids, scores);
}

void Bm25Search::search(const std::vector<const Meaning*>& text, int64_t top_k, int32_t* ids, float* scores) const {
  Bm25Query query(text);
  const auto postings = find(query);
  search_all(query, postings, frequencies_in(postings, query.terms.size()), top_k, ids, scores);
}

void Bm25Search::search_part_of_whole(const std::vector<const Meaning*>& text, const std::vector<double>& frequencies,
                                      int64_t top_k, int32_t* ids, double* scores) const {
  Bm25Query query(text);
  const auto postings = find(query);
  const auto own = frequencies_in(postings, query.terms.size());
  require(frequencies.size() == own.size(), ErrorCode::kArgument, "frequencies: expected ", own.size(),
          ", one for each different term of the query, got ", frequencies.size());
  for (size_t term = 0; term < own.size(); ++term) {
    const bool is_possible =
        frequencies[term] >= own[term] && frequencies[term] <= static_cast<double>(whole_.num_passages);
    require(is_possible, ErrorCode::kArgument, "frequencies: expected ", own[term], " to ", whole_.num_passages,
            ", got ", frequencies[term]);
  }
  search_all(query, postings, frequencies, top_k, ids, scores);
}

}  // namespace seekrl::search
