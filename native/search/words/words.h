// Words arrive from TypeScript, already folded and cut, with one space between.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "search/checksum.h"

namespace seekrl::search {

template <class Use>
void for_each_word(std::string_view words, Use use) {
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    if (end > begin) use(words.substr(begin, end - begin));
    begin = end + 1;
  }
}

// Stands for the term itself: among ten million terms, two share a hash once in 370,000 corpora. Never 0.
inline uint64_t hash_term(std::string_view term) {
  const uint64_t hash = hash_string(term);
  return hash == 0 ? 1 : hash;
}

}  // namespace seekrl::search
