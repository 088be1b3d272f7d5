// A set of row numbers, one bit each: the rows that a search leaves out.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace seekrl::search {

class RowSet {
 public:
  // Of numbers below `num_rows`, none of them in it.
  explicit RowSet(int64_t num_rows) : words_(static_cast<size_t>((num_rows + 63) / 64)) {}

  // Beyond the numbers it was made for there are none.
  bool has(int64_t row) const {
    const auto word = static_cast<size_t>(row / 64);
    return word < words_.size() && (words_[word] >> (row % 64) & 1) != 0;
  }
  void insert(int64_t row) { words_[static_cast<size_t>(row / 64)] |= uint64_t{1} << (row % 64); }
  // All of another set, which was made for as many numbers or fewer.
  void insert(const RowSet& other) {
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }
  const std::vector<uint64_t>& words() const { return words_; }
  std::vector<uint64_t>& words() { return words_; }
  int64_t count() const {
    int64_t sum = 0;
    for (const uint64_t word : words_) sum += std::popcount(word);
    return sum;
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace seekrl::search
