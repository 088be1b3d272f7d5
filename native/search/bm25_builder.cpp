// Counts terms passage by passage; turns the counts into postings by term when saved.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "search/bm25.h"

namespace seekrl::search {

namespace {

double inverse_frequency(double num_passages, double passage_frequency) {
  return std::log(1 + (num_passages - passage_frequency + 0.5) / (passage_frequency + 0.5));
}

std::vector<Bm25Index::Slot> make_slots(const std::unordered_map<uint64_t, uint32_t>& term_ids) {
  std::vector<Bm25Index::Slot> slots(std::bit_ceil(2 * term_ids.size() + 1));
  for (const auto& [hash, term] : term_ids) {
    size_t at = hash & (slots.size() - 1);
    while (slots[at].hash != 0) at = (at + 1) & (slots.size() - 1);
    slots[at] = {hash, term};
  }
  return slots;
}

}  // namespace

Bm25Builder::Bm25Builder(const Bm25Options& options) : options_(options) {
  require(options.k1 >= 0 && std::isfinite(options.k1), ErrorCode::kRange, "k1: expected at least 0, got ", options.k1);
  require(options.b >= 0 && options.b <= 1, ErrorCode::kRange, "b: expected 0 to 1, got ", options.b);
}

void Bm25Builder::add(const std::vector<const Meaning*>& text) {
  std::vector<uint32_t> ids;
  for_each_term(text, [&](uint64_t term) {
    const auto next = static_cast<uint32_t>(term_ids_.size());
    ids.push_back(term_ids_.try_emplace(term, next).first->second);
  });
  passage_frequencies_.resize(term_ids_.size());
  std::sort(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size();) {
    const size_t first = i;
    while (i < ids.size() && ids[i] == ids[first]) ++i;
    postings_.push_back({ids[first], static_cast<uint32_t>(i - first)});
    ++passage_frequencies_[ids[first]];
  }
  passage_ends_.push_back(postings_.size());
  passage_lengths_.push_back(static_cast<uint32_t>(ids.size()));
}

void Bm25Builder::save(const std::string& path) const {
  const double num_passages = std::max<double>(1, static_cast<double>(count()));
  double num_terms_seen = 0;
  for (const uint32_t length : passage_lengths_) num_terms_seen += length;
  const double average_length = std::max(1.0, num_terms_seen) / num_passages;

  std::vector<uint64_t> starts(passage_frequencies_.size() + 1);
  for (size_t term = 0; term < passage_frequencies_.size(); ++term) {
    starts[term + 1] = starts[term] + passage_frequencies_[term];
  }
  std::vector<uint32_t> passages(postings_.size());
  std::vector<float> impacts(postings_.size());
  std::vector<uint64_t> next(starts.begin(), starts.end() - 1);
  uint64_t posting = 0;
  for (size_t passage = 0; passage < passage_ends_.size(); ++passage) {
    const double length = passage_lengths_[passage] / average_length;
    const double saturation = options_.k1 * (1 - options_.b + options_.b * length);
    for (; posting < passage_ends_[passage]; ++posting) {
      const auto [term, frequency] = postings_[posting];
      const uint64_t at = next[term]++;
      passages[at] = static_cast<uint32_t>(passage);
      impacts[at] = static_cast<float>(inverse_frequency(num_passages, passage_frequencies_[term]) * frequency /
                                       (frequency + saturation));
    }
  }

  const auto slots = make_slots(term_ids_);
  BlobWriter file(path, Bm25Index::kKind);
  file.write(slots);
  file.write(starts);
  file.write(passages);
  file.write(impacts);
  file.finish({count(), static_cast<int64_t>(passage_frequencies_.size()), static_cast<int64_t>(slots.size()),
               static_cast<int64_t>(postings_.size())});
}

}  // namespace seekrl::search
