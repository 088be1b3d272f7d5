// One query to BM25 indexes: its terms, and the best passages so far.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "search/top_k.h"
#include "search/words/lexicon.h"

namespace seekrl::search {

// A query's different terms, and which of them stands where.
struct Bm25Query {
  std::vector<uint64_t> terms;
  std::vector<uint32_t> order;  // indices into `terms`, repeats included
  std::vector<uint32_t> counts;
  std::vector<double> idf;

  explicit Bm25Query(const std::vector<const Meaning*>& text) {
    std::unordered_map<uint64_t, uint32_t> known;
    for_each_term(text, [&](uint64_t term) {
      const auto [found, is_first] = known.try_emplace(term, static_cast<uint32_t>(terms.size()));
      if (is_first) terms.push_back(term), counts.push_back(0);
      ++counts[found->second];
      order.push_back(found->second);
    });
  }
};

// Scores are positive, and one as high as the worst of the best does not enter: passages come in the order of their
// ids.
using BestPassages = BestOf<double, int64_t>;

}  // namespace seekrl::search
