// Reads the file; terms are found by binary search over their hashes.
#include <algorithm>
#include <bit>

#include "base/error.h"
#include "search/words/bm25.h"

namespace seekrl::search {

double average_length(int64_t num_passages, int64_t num_terms) {
  return static_cast<double>(std::max<int64_t>(1, num_terms)) / static_cast<double>(std::max<int64_t>(1, num_passages));
}

double impact(const TermFrequency& pair, const Bm25Options& options, double average_length) {
  const double tf = pair.frequency, dl = pair.length;
  return tf / (tf + options.k1 * (1 - options.b + options.b * dl / average_length));
}

uint32_t Postings::find_further(uint32_t passage, uint32_t from) const {
  uint32_t end = count;
  if (blocks != nullptr) {
    const uint32_t num_blocks = (count + kBlockSize - 1) / kBlockSize;
    uint32_t block = from / kBlockSize, step = 1;
    // Doubling steps until the passage is behind, then halving ones.
    while (block + step < num_blocks && blocks[block + step - 1].last < passage) block += step, step *= 2;
    const auto* first = blocks + block;
    const auto* last = blocks + std::min(num_blocks, block + step);
    const auto is_before = [](const Block& b, uint32_t p) { return b.last < p; };
    block = static_cast<uint32_t>(std::lower_bound(first, last, passage, is_before) - blocks);
    if (block == num_blocks) return count;
    from = std::max(from, block * kBlockSize);
    end = std::min(count, (block + 1) * kBlockSize);
  }
  return static_cast<uint32_t>(std::lower_bound(passages + from, passages + end, passage) - passages);
}

Bm25Index::Bm25Index(const std::string& path, Verify verify) : blob_(path, kKind, verify) {
  const auto [num_passages, num_terms, k1, b, num_different, num_pairs] = blob_.numbers();
  options_ = {std::bit_cast<double>(k1), std::bit_cast<double>(b)};
  num_passages_ = num_passages, num_terms_ = num_terms, num_different_ = num_different, num_pairs_ = num_pairs;
  const auto is_count = [](int64_t count) { return count >= 0 && count < int64_t{1} << 40; };
  require(is_count(num_passages) && is_count(num_terms) && is_count(num_different) && is_count(num_pairs),
          ErrorCode::kFormat, path, ": expected counts of at least 0");
  const auto table_bytes = static_cast<size_t>(2 * num_different + num_pairs) * sizeof(uint64_t);
  require(blob_.payload_bytes() >= table_bytes && blob_.payload_bytes() % sizeof(uint64_t) == 0, ErrorCode::kFormat,
          path, ": the counts do not fit the size");
  hashes_ = reinterpret_cast<const uint64_t*>(blob_.payload() + blob_.payload_bytes() - table_bytes);
  starts_ = hashes_ + num_different;
  pairs_ = reinterpret_cast<const TermFrequency*>(starts_ + num_different);
  if (verify == Verify::kAll) check_postings(path);
}

void Bm25Index::check_postings(const std::string& path) const {
  for (int64_t term = 0; term < num_different_; ++term) {
    require(is_sound(starts_[term]) && (term == 0 || hashes_[term - 1] < hashes_[term]), ErrorCode::kFormat, path,
            ": the postings of term ", term, " are damaged");
  }
}

// Whether everything that a search reads of the term lies within the postings and names passages and pairs there are.
bool Bm25Index::is_sound(uint64_t start) const {
  const auto size = static_cast<uint64_t>(reinterpret_cast<const std::byte*>(hashes_) - blob_.payload());
  constexpr uint64_t kHeadBytes = sizeof(uint32_t) + sizeof(float);
  if (start % sizeof(uint32_t) != 0 || start > size || size - start < kHeadBytes) return false;
  const uint64_t count = *reinterpret_cast<const uint32_t*>(blob_.payload() + start);
  const uint64_t num_blocks =
      count > Postings::kBlockSize ? (count + Postings::kBlockSize - 1) / Postings::kBlockSize : 0;
  const uint64_t pair_bytes = has_wide_pairs() ? sizeof(uint32_t) : sizeof(uint16_t);
  if (num_blocks * sizeof(Postings::Block) + count * (sizeof(uint32_t) + pair_bytes) > size - start - kHeadBytes) {
    return false;
  }
  const Postings postings = postings_at(start);
  for (uint32_t i = 0; i < postings.count; ++i) {
    const uint32_t passage = postings.passages[i];
    const int64_t pair = has_wide_pairs() ? static_cast<const uint32_t*>(postings.pairs)[i]
                                          : static_cast<const uint16_t*>(postings.pairs)[i];
    const bool is_last = i % Postings::kBlockSize == Postings::kBlockSize - 1 || i + 1 == postings.count;
    const bool is_in_order = i == 0 || postings.passages[i - 1] < passage;
    const bool fits_block = num_blocks == 0 || !is_last || postings.blocks[i / Postings::kBlockSize].last == passage;
    if (passage >= num_passages_ || pair >= num_pairs_ || !is_in_order || !fits_block) return false;
  }
  return true;
}

Postings Bm25Index::find(uint64_t term) const {
  const uint64_t* end = hashes_ + num_different_;
  const uint64_t* found = std::lower_bound(hashes_, end, term);
  return found == end || *found != term ? Postings() : postings_at(starts_[found - hashes_]);
}

Postings Bm25Index::postings_at(uint64_t start) const {
  const std::byte* at = blob_.payload() + start;
  Postings postings;
  postings.count = *reinterpret_cast<const uint32_t*>(at);
  postings.max_impact = *reinterpret_cast<const float*>(at + sizeof(uint32_t));
  at += sizeof(uint32_t) + sizeof(float);
  if (postings.count > Postings::kBlockSize) {
    postings.blocks = reinterpret_cast<const Postings::Block*>(at);
    at += (postings.count + Postings::kBlockSize - 1) / Postings::kBlockSize * sizeof(Postings::Block);
  }
  postings.passages = reinterpret_cast<const uint32_t*>(at);
  postings.pairs = postings.passages + postings.count;
  return postings;
}

}  // namespace seekrl::search
