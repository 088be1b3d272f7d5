// What to know of a corpus before anything is trained on it: texts that stand in it twice, empty and over-long ones.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace seekrl::search {

// Passages by number.
struct CorpusSummary {
  struct Repeat {
    int32_t first, again;
  };

  int64_t num_passages = 0;
  int64_t num_words = 0;
  int64_t num_longest_words = 0;
  int64_t num_empty = 0;
  int64_t num_over_long = 0;
  // Passages whose text an earlier one has.
  int64_t num_repeats = 0;
  // The lowest numbers of each sort.
  std::vector<int32_t> empty, over_long;
  std::vector<Repeat> repeats;
};

// 12 bytes a passage, whatever the texts. Two texts are the same when they differ in blanks and the case of ASCII
// letters only; they are compared by 64-bit hashes, which confuse two of 29 million texts once in 40,000 corpora.
class CorpusStats {
 public:
  // A passage of more than `max_words` is over-long; words stand between ASCII blanks.
  explicit CorpusStats(int64_t max_words) : max_words_(max_words) {}

  // ERR_RANGE beyond 2^31 - 1 passages.
  void add(std::string_view text);
  // With at most `num_examples` of each sort; sorts in place, passages can be added afterwards.
  CorpusSummary summary(size_t num_examples);

 private:
  static constexpr size_t kMaxExamples = 100;

  struct Entry {
    uint32_t hash_high, hash_low;
    int32_t number;
    uint64_t hash() const { return static_cast<uint64_t>(hash_high) << 32 | hash_low; }
  };
  static_assert(sizeof(Entry) == 12);

  int64_t max_words_;
  CorpusSummary counts_;
  std::deque<Entry> entries_;  // of texts that are not empty
};

}  // namespace seekrl::search
