// At each word of a text, the phrases that begin with it are compared with what follows.
#include "search/passages/phrase_table.h"

#include <algorithm>
#include <atomic>

namespace seekrl::search {

namespace {

std::vector<uint64_t> words_of(const std::vector<const Meaning*>& text) {
  std::vector<uint64_t> words;
  for_each_term(text, [&](uint64_t word) { words.push_back(word); });
  return words;
}

}  // namespace

PhraseTable::PhraseTable(const CutTexts& phrases) : marked_(static_cast<size_t>(phrases.count())) {
  for (int64_t i = 0; i < phrases.count(); ++i) {
    phrases_.push_back(words_of(phrases.meanings(i)));
    if (!phrases_.back().empty()) by_first_word_[phrases_.back().front()].push_back(static_cast<uint32_t>(i));
  }
}

template <class Use>
void PhraseTable::for_each(const std::vector<const Meaning*>& text, Use use) const {
  const auto words = words_of(text);
  for (size_t at = 0; at < words.size(); ++at) {
    const auto found = by_first_word_.find(words[at]);
    if (found == by_first_word_.end()) continue;
    for (const uint32_t phrase : found->second) {
      const auto& own = phrases_[phrase];
      const bool fits = own.size() <= words.size() - at;
      if (fits && std::equal(own.begin(), own.end(), words.begin() + static_cast<ptrdiff_t>(at))) use(phrase);
    }
  }
}

std::vector<uint32_t> PhraseTable::find(const std::vector<const Meaning*>& text) const {
  std::vector<uint32_t> found;
  for_each(text, [&](uint32_t phrase) { found.push_back(phrase); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void PhraseTable::mark(const std::vector<const Meaning*>& text) {
  for_each(text, [&](uint32_t phrase) { std::atomic_ref(marked_[phrase]).store(1, std::memory_order_relaxed); });
}

}  // namespace seekrl::search
