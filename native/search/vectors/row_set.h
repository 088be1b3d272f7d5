// A set of row numbers, one bit each: the rows that a search leaves out.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace seekrl::search {

class RowSet {
 public:
  // Of numbers below `num_rows`, none of them in it.
  explicit RowSet(int64_t num_rows) : num_rows_(num_rows), words_(static_cast<size_t>((num_rows + 63) / 64)) {}

  // Beyond the numbers it was made for there are none.
  bool has(int64_t row) const {
    const auto word = static_cast<size_t>(row / 64);
    return word < words_.size() && (words_[word] >> (row % 64) & 1) != 0;
  }
  int64_t count() const { return count_; }

  void insert(int64_t row) {
    count_ += !has(row);
    words_[static_cast<size_t>(row / 64)] |= uint64_t{1} << (row % 64);
  }
  // All of another set, which was made for as many numbers or fewer.
  void insert(const RowSet& other) {
    for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    recount();
  }
  // The rows whose bits are set, or those whose bits are not: (num_rows + 7) / 8 bytes, the first row in the lowest bit
  // of the first.
  void assign(const void* bits, bool is_inverted) {
    std::memcpy(words_.data(), bits, static_cast<size_t>((num_rows_ + 7) / 8));
    for (uint64_t& word : words_) word ^= is_inverted ? ~uint64_t{0} : 0;
    if (num_rows_ % 64 != 0) words_.back() &= (uint64_t{1} << (num_rows_ % 64)) - 1;
    recount();
  }

  const std::vector<uint64_t>& words() const { return words_; }

 private:
  void recount() {
    count_ = 0;
    for (const uint64_t word : words_) count_ += std::popcount(word);
  }

  int64_t num_rows_, count_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace seekrl::search
