// Passages to runs sorted by term, runs to the file.
#include "search/words/bm25_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "search/words/words.h"

namespace seekrl::search {

namespace {

// What a merged list of postings becomes in the file.
class PostingsWriter {
 public:
  PostingsWriter(BlobWriter& file, const PairNumbers& pairs, const Bm25Options& options, double average_length)
      : file_(file), is_wide_(pairs.pairs().size() > static_cast<size_t>(Bm25Index::kMaxNarrowPairs)) {
    for (const auto& pair : pairs.pairs()) {
      const auto rounded = static_cast<float>(impact(pair, options, average_length));
      impacts_.push_back(std::nextafter(rounded, std::numeric_limits<float>::infinity()));
    }
  }

  void write(uint64_t term, const std::vector<RawPosting>& postings) {
    terms_.push_back(term);
    starts_.push_back(size_);
    put_bounds(postings);
    for (const auto& posting : postings) put(posting.passage);
    for (const auto& posting : postings) {
      is_wide_ ? put(posting.pair) : put(static_cast<uint16_t>(posting.pair));
    }
    pad(sizeof(uint32_t));
    file_.write(bytes_);
    size_ += bytes_.size();
    bytes_.clear();
  }

  // Returns how many terms there were.
  int64_t finish(const PairNumbers& pairs) {
    pad(sizeof(uint64_t));
    file_.write(bytes_);
    file_.write(terms_);
    file_.write(starts_);
    file_.write(pairs.pairs());
    return static_cast<int64_t>(terms_.size());
  }

 private:
  template <class T>
  void put(T value) {
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  void pad(size_t multiple) {
    while ((size_ + bytes_.size()) % multiple != 0) bytes_.push_back(std::byte{0});
  }

  float max_impact(const std::vector<RawPosting>& postings, size_t begin, size_t end) const {
    float largest = 0;
    for (size_t i = begin; i < end; ++i) largest = std::max(largest, impacts_[postings[i].pair]);
    return largest;
  }

  void put_bounds(const std::vector<RawPosting>& postings) {
    put(static_cast<uint32_t>(postings.size()));
    put(max_impact(postings, 0, postings.size()));
    if (postings.size() <= Postings::kBlockSize) return;
    for (size_t begin = 0; begin < postings.size(); begin += Postings::kBlockSize) {
      const size_t end = std::min(postings.size(), begin + Postings::kBlockSize);
      put(Postings::Block{postings[end - 1].passage, max_impact(postings, begin, end)});
    }
  }

  BlobWriter& file_;
  bool is_wide_;
  std::vector<float> impacts_;  // by pair
  std::vector<std::byte> bytes_;
  std::vector<uint64_t> terms_, starts_;
  uint64_t size_ = 0;
};

// Stands for a title of several stop words alone, "=the=who", as lib/text/analysis/words.ts writes it; 0 for others.
uint64_t term_of_title(const std::vector<const Meaning*>& text, size_t num_title) {
  std::string term;
  size_t num_words = 0, num_stops = 0;
  for (size_t i = 0; i < num_title; ++i) {
    for_each_word(text[i]->words, [&](std::string_view word) { term.append("=").append(word), ++num_words; });
    num_stops += text[i]->num_stops;
    if (num_stops < num_words) return 0;
  }
  return num_words >= 2 ? hash_term(term) : 0;
}

}  // namespace

void TermNumbers::clear() {
  slots_.assign(1 << 12, {0, 0});
  terms_.clear();
}

uint32_t TermNumbers::number_of(uint64_t term) {
  const size_t mask = slots_.size() - 1;
  size_t at = term & mask;
  while (slots_[at].term != term && slots_[at].term != 0) at = (at + 1) & mask;
  if (slots_[at].term == term) return slots_[at].number;
  const auto number = static_cast<uint32_t>(terms_.size());
  terms_.push_back(term);
  slots_[at] = {term, number};
  if (2 * terms_.size() <= slots_.size()) return number;
  std::vector<Slot> larger(2 * slots_.size());
  for (uint32_t i = 0; i < terms_.size(); ++i) {
    at = terms_[i] & (larger.size() - 1);
    while (larger[at].term != 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = {terms_[i], i};
  }
  slots_ = std::move(larger);
  return number;
}

uint32_t PairNumbers::number_of(const TermFrequency& pair) {
  const auto next = static_cast<uint32_t>(pairs_.size());
  if (pair.frequency < kCommonTf && pair.length < kCommonDl) {
    uint32_t& number = common_[pair.frequency * kCommonDl + pair.length];
    if (number == 0) pairs_.push_back(pair), number = next + 1;
    return number - 1;
  }
  const auto [found, is_first] = rare_.try_emplace({pair.frequency, pair.length}, next);
  if (is_first) pairs_.push_back(pair);
  return found->second;
}

Bm25Builder::Bm25Builder(const Bm25Options& options, std::string scratch, int64_t max_bytes)
    : options_(options), scratch_(std::move(scratch)), max_bytes_(static_cast<size_t>(max_bytes)) {
  require(options.k1 >= 0 && std::isfinite(options.k1), ErrorCode::kRange, "k1: expected at least 0, got ", options.k1);
  require(options.b >= 0 && options.b <= 1, ErrorCode::kRange, "b: expected 0 to 1, got ", options.b);
  require(max_bytes >= 1 << 20, ErrorCode::kRange, "maxBytes: expected at least ", 1 << 20, ", got ", max_bytes);
}

void Bm25Builder::add(const std::vector<const Meaning*>& text, size_t num_title) {
  require(!is_saved_, ErrorCode::kState, "bm25: the builder has saved its index");
  require(num_passages_ < std::numeric_limits<int32_t>::max(), ErrorCode::kRange, "bm25: too many passages");
  ids_.clear();
  const auto add_term = [&](uint64_t term) { ids_.push_back(terms_.number_of(term)); };
  const size_t num_letters = for_each_term_or_letter(text, add_term);
  const auto length = static_cast<uint32_t>(ids_.size() - num_letters);
  for_each_stop(text, num_title, add_term);
  if (const uint64_t title = term_of_title(text, num_title); title != 0) add_term(title);
  counts_.resize(terms_.terms().size());
  std::sort(ids_.begin(), ids_.end());
  for (size_t i = 0; i < ids_.size();) {
    const size_t first = i;
    while (i < ids_.size() && ids_[i] == ids_[first]) ++i;
    postings_.push_back({ids_[first], pairs_.number_of({static_cast<uint32_t>(i - first), length})});
    ++counts_[ids_[first]];
  }
  ends_.push_back(postings_.size());
  ++num_passages_;
  num_terms_ += length;
  if (num_bytes() >= max_bytes_) spill();
}

// With the sorted copy that `spill` makes.
size_t Bm25Builder::num_bytes() const {
  constexpr size_t kTermBytes = 64;  // slots, hash, count, order
  return postings_.size() * (sizeof(TermPair) + sizeof(RawPosting)) + terms_.terms().size() * kTermBytes +
         ends_.size() * sizeof(uint64_t);
}

void Bm25Builder::spill() {
  if (ends_.empty()) return;
  const auto& terms = terms_.terms();
  std::vector<uint32_t> order(terms.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return terms[a] < terms[b]; });
  std::vector<uint64_t> next(terms.size());
  uint64_t start = 0;
  for (const uint32_t term : order) start += counts_[term], next[term] = start - counts_[term];

  std::vector<RawPosting> sorted(postings_.size());
  size_t posting = 0;
  for (size_t i = 0; i < ends_.size(); ++i) {
    const auto passage = static_cast<uint32_t>(first_ + static_cast<int64_t>(i));
    for (; posting < ends_[i]; ++posting) sorted[next[postings_[posting].term]++] = {passage, postings_[posting].pair};
  }
  if (runs_ == nullptr) runs_ = std::make_unique<Bm25Runs>(scratch_);
  runs_->begin_run();
  for (const uint32_t term : order) runs_->write(terms[term], &sorted[next[term] - counts_[term]], counts_[term]);

  first_ = num_passages_;
  terms_.clear();
  counts_.clear();
  postings_.clear();
  ends_.clear();
}

void Bm25Builder::save(const std::string& path) {
  require(!is_saved_, ErrorCode::kState, "bm25: the builder has saved its index");
  spill();
  is_saved_ = true;
  postings_.shrink_to_fit();
  BlobWriter file(path, Bm25Index::kKind);
  PostingsWriter writer(file, pairs_, options_, average_length(num_passages_, num_terms_));
  if (runs_ != nullptr) {
    runs_->merge([&](uint64_t term, const std::vector<RawPosting>& postings) { writer.write(term, postings); });
  }
  const int64_t num_different = writer.finish(pairs_);
  file.finish({num_passages_, num_terms_, std::bit_cast<int64_t>(options_.k1), std::bit_cast<int64_t>(options_.b),
               num_different, static_cast<int64_t>(pairs_.pairs().size())});
  runs_.reset();
}

}  // namespace seekrl::search
