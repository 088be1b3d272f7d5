// Adds up the postings of a query's terms, one float for each passage.
#include <algorithm>
#include <bit>

#include "base/error.h"
#include "search/bm25.h"
#include "search/top_k.h"

namespace seekrl::search {

namespace {

// Scores by passage, zero between searches; a thread keeps its own, as large as the largest index it has searched.
struct Accumulator {
  std::vector<float> scores;
  std::vector<uint32_t> touched;
};

Accumulator& accumulator(int64_t num_passages) {
  thread_local Accumulator own;
  if (own.scores.size() < static_cast<size_t>(num_passages)) own.scores.resize(static_cast<size_t>(num_passages));
  return own;
}

}  // namespace

Bm25Index::Bm25Index(const std::string& path, Verify verify) : blob_(path, kKind, verify) {
  const auto [num_passages, num_terms, num_slots, num_postings, unused_a, unused_b] = blob_.numbers();
  const auto check = [&](bool holds, const char* what) { require(holds, ErrorCode::kFormat, path, ": ", what); };
  check(num_passages >= 0 && num_terms >= 0 && num_postings >= 0, "expected counts of at least 0");
  check(num_slots > num_terms && std::has_single_bit(static_cast<uint64_t>(num_slots)),
        "expected a power of two slots, more than there are terms");
  const auto num_bytes = static_cast<uint64_t>(num_slots) * sizeof(Slot) +
                         static_cast<uint64_t>(num_terms + 1) * sizeof(uint64_t) +
                         static_cast<uint64_t>(num_postings) * (sizeof(uint32_t) + sizeof(float));
  check(blob_.payload_bytes() == num_bytes, "the counts do not fit the size");
  num_passages_ = num_passages;
  num_slots_ = num_slots;
  slots_ = reinterpret_cast<const Slot*>(blob_.payload());
  starts_ = reinterpret_cast<const uint64_t*>(slots_ + num_slots);
  passages_ = reinterpret_cast<const uint32_t*>(starts_ + num_terms + 1);
  impacts_ = reinterpret_cast<const float*>(passages_ + num_postings);
  check(starts_[num_terms] == static_cast<uint64_t>(num_postings), "the postings do not fit the terms");
}

int64_t Bm25Index::find_term(uint64_t hash) const {
  const uint64_t mask = static_cast<uint64_t>(num_slots_) - 1;
  for (uint64_t at = hash & mask; slots_[at].hash != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash) return static_cast<int64_t>(slots_[at].term);
  }
  return -1;
}

void Bm25Index::search(const std::vector<const Meaning*>& query, int64_t top_k, int32_t* ids, float* scores) const {
  auto& [sums, touched] = accumulator(num_passages_);
  for_each_term(query, [&](uint64_t hash) {
    const int64_t term = find_term(hash);
    if (term < 0) return;
    for (uint64_t at = starts_[term]; at < starts_[term + 1]; ++at) {
      float& sum = sums[passages_[at]];
      if (sum == 0) touched.push_back(passages_[at]);
      sum += impacts_[at];
    }
  });
  TopK best(top_k);
  for (const uint32_t passage : touched) {
    if (sums[passage] >= best.threshold()) best.offer({sums[passage], static_cast<int32_t>(passage)});
    sums[passage] = 0;
  }
  touched.clear();
  best.take(ids, scores);
}

}  // namespace seekrl::search
