// One query to BM25 indexes: its terms, and the best passages so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "search/top_k.h"
#include "search/words/lexicon.h"
#include "search/words/words.h"

namespace seekrl::search {

// A query's different terms, and which of them stands where: its stop words only where it has no other words.
struct Bm25Query {
  std::vector<uint64_t> terms;
  std::vector<uint32_t> order;  // indices into `terms`, repeats included
  std::vector<uint32_t> counts;
  std::vector<double> idf;

  explicit Bm25Query(const std::vector<const Meaning*>& text) {
    std::unordered_map<uint64_t, uint32_t> known;
    const auto add = [&](uint64_t term) {
      const auto [found, is_first] = known.try_emplace(term, static_cast<uint32_t>(terms.size()));
      if (is_first) terms.push_back(term), counts.push_back(0);
      ++counts[found->second];
      order.push_back(found->second);
    };
    for_each_term_or_letter(text, add);
    if (has_stops_alone(text)) for_each_stop(text, text.size(), add);
  }

 private:
  static bool has_stops_alone(const std::vector<const Meaning*>& text) {
    return std::all_of(text.begin(), text.end(), [](const Meaning* meaning) {
      size_t num_words = 0;
      if (meaning->num_stops > 0) for_each_word(meaning->words, [&](std::string_view) { ++num_words; });
      return meaning->num_stops > 0 ? meaning->num_stops >= num_words : meaning->num_terms == 0;
    });
  }
};

// Scores are positive, and one as high as the worst of the best does not enter: passages come in the order of their
// ids.
using BestPassages = BestOf<double, int64_t>;

}  // namespace seekrl::search
