// Postings that wait on disk: sorted runs of what fitted into memory, read again term by term, merged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/spill_file.h"

namespace seekrl::search {

// A posting on its way into the index: the passage and the number of its TermFrequency.
struct RawPosting {
  uint32_t passage, pair;
};

// All runs lie in one nameless file. A run is a list of terms with ascending hashes: the hash (8 bytes), the number of
// postings, then for each the step from the passage before and the pair; variable-length integers, low bits first.
class Bm25Runs {
 public:
  // On the file system of `path`.
  explicit Bm25Runs(const std::string& path) : file_(path) {}

  void begin_run() { starts_.push_back(size()); }
  void write(uint64_t term, const RawPosting* postings, size_t count);

  // Calls use(term, postings) for each term of all runs, in order of the hashes; a term's postings come run after run.
  template <class Use>
  void merge(Use use);

 private:
  class Reader;

  int64_t size() const { return file_.size() + static_cast<int64_t>(buffer_.size()); }
  void put_number(uint64_t number);
  void flush();
  std::vector<std::unique_ptr<Reader>> readers();

  SpillFile file_;
  std::vector<uint8_t> buffer_;
  std::vector<int64_t> starts_;
};

// Reads one run through a small buffer.
class Bm25Runs::Reader {
 public:
  Reader(const SpillFile& file, int64_t begin, int64_t end) : file_(file), begin_(begin), next_(begin), end_(end) {}

  // False after the last term.
  bool next_term();
  uint64_t term() const { return term_; }
  int64_t begin() const { return begin_; }
  // Appends the term's postings; once for each term.
  void take(std::vector<RawPosting>& postings);

 private:
  uint8_t byte();
  uint64_t number();

  const SpillFile& file_;
  const int64_t begin_;
  int64_t next_, end_;
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;
  uint64_t term_ = 0;
};

template <class Use>
void Bm25Runs::merge(Use use) {
  flush();
  auto heap = readers();
  // Of equal terms the earlier run first: passages stay ascending.
  const auto is_later = [](const auto& a, const auto& b) {
    return a->term() != b->term() ? a->term() > b->term() : a->begin() > b->begin();
  };
  std::make_heap(heap.begin(), heap.end(), is_later);
  std::vector<RawPosting> postings;
  while (!heap.empty()) {
    const uint64_t term = heap.front()->term();
    postings.clear();
    while (!heap.empty() && heap.front()->term() == term) {
      std::pop_heap(heap.begin(), heap.end(), is_later);
      heap.back()->take(postings);
      if (heap.back()->next_term()) {
        std::push_heap(heap.begin(), heap.end(), is_later);
      } else {
        heap.pop_back();
      }
    }
    use(term, postings);
  }
}

}  // namespace seekrl::search
