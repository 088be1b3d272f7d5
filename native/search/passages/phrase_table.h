// Finds which of many phrases stand in texts, word for word.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "search/words/lexicon.h"

namespace seekrl::search {

// Phrases and texts are cut by the same lexicon. A phrase without words stands nowhere.
class PhraseTable {
 public:
  explicit PhraseTable(const CutTexts& phrases);

  // The phrases in a text, ascending, each once. From any thread.
  std::vector<uint32_t> find(const std::vector<const Meaning*>& text) const;

  // Notes the phrases in a text. From any thread.
  void mark(const std::vector<const Meaning*>& text);
  // A 1 for each phrase that was noted.
  std::vector<uint8_t> marked() const { return marked_; }

 private:
  // Calls use(phrase) for each place where one stands.
  template <class Use>
  void for_each(const std::vector<const Meaning*>& text, Use use) const;

  std::vector<std::vector<uint64_t>> phrases_;                         // hashes of their words
  std::unordered_map<uint64_t, std::vector<uint32_t>> by_first_word_;  // phrases
  std::vector<uint8_t> marked_;
};

}  // namespace seekrl::search
