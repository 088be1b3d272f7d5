// One pass over the bytes of a text gives its words and its hash; sorted hashes bring equal texts together.
#include "search/passages/corpus_stats.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "search/checksum.h"

namespace seekrl::search {

namespace {

struct Measured {
  int64_t num_words;
  uint64_t hash;
};

constexpr bool is_blank(unsigned char byte) { return byte <= ' '; }

constexpr unsigned char folded(unsigned char byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

// FNV-1a over the folded words, each with one blank behind it.
Measured measure(std::string_view text) {
  Measured measured = {0, 0xcbf29ce484222325u};
  bool is_word = false;
  const auto take = [&](unsigned char byte) { measured.hash = (measured.hash ^ byte) * 0x100000001b3u; };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!is_blank(byte)) {
      measured.num_words += is_word ? 0 : 1;
      is_word = true;
      take(folded(byte));
    } else if (is_word) {
      is_word = false;
      take(' ');
    }
  }
  if (is_word) take(' ');
  measured.hash = mix(measured.hash);
  return measured;
}

}  // namespace

void CorpusStats::add(std::string_view text) {
  require(counts_.num_passages < std::numeric_limits<int32_t>::max(), ErrorCode::kRange, "passages: expected at most ",
          std::numeric_limits<int32_t>::max());
  const auto number = static_cast<int32_t>(counts_.num_passages++);
  const auto [num_words, hash] = measure(text);
  counts_.num_words += num_words;
  counts_.num_longest_words = std::max(counts_.num_longest_words, num_words);
  const auto note = [&](std::vector<int32_t>& examples) {
    if (examples.size() < kMaxExamples) examples.push_back(number);
  };
  if (num_words == 0) {
    ++counts_.num_empty;
    return note(counts_.empty);
  }
  if (num_words > max_words_) {
    ++counts_.num_over_long;
    note(counts_.over_long);
  }
  entries_.push_back({static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(hash), number});
}

CorpusSummary CorpusStats::summary(size_t num_examples) {
  CorpusSummary summary = counts_;
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(a.hash(), a.number) < std::tuple(b.hash(), b.number);
  });
  // A heap of the examples with the lowest numbers, the highest of them on top.
  auto& repeats = summary.repeats;
  const auto is_earlier = [](const CorpusSummary::Repeat& a, const CorpusSummary::Repeat& b) {
    return a.again < b.again;
  };
  const Entry* first = nullptr;
  for (const Entry& entry : entries_) {
    if (first == nullptr || first->hash() != entry.hash()) {
      first = &entry;
      continue;
    }
    ++summary.num_repeats;
    repeats.push_back({first->number, entry.number});
    std::push_heap(repeats.begin(), repeats.end(), is_earlier);
    if (repeats.size() <= num_examples) continue;
    std::pop_heap(repeats.begin(), repeats.end(), is_earlier);
    repeats.pop_back();
  }
  std::sort_heap(repeats.begin(), repeats.end(), is_earlier);
  for (auto* examples : {&summary.empty, &summary.over_long}) {
    examples->resize(std::min(examples->size(), num_examples));
  }
  return summary;
}

}  // namespace seekrl::search
