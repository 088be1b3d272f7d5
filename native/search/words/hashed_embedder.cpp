// Features are hashed twice over: low bits choose the component and its sign, high bits the idf.
#include "search/words/hashed_embedder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "search/words/words.h"

namespace seekrl::search {

namespace {

// By recall of answers on Natural Questions over 9,733 Wikipedia passages: letters carry more than pairs of words.
constexpr float kWordWeight = 1.0f, kPairWeight = 0.2f, kPieceWeight = 0.7f;
constexpr size_t kMinPiece = 3, kMaxPiece = 5;
// Features share an idf when their hashes agree in the highest bits.
constexpr int kIdfBits = 20;
constexpr uint64_t kPairSeed = 0x70616972, kPieceSeed = 0x70696563;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

struct Feature {
  uint64_t hash;
  float weight;
  uint32_t frequency;  // 0 in an empty slot
};

// The different features of one text, counted; a thread keeps its own.
class FeatureCounts {
 public:
  static FeatureCounts& of(const std::vector<const Meaning*>& text) {
    thread_local FeatureCounts own;
    for (const uint32_t slot : own.used_) own.slots_[slot] = {};
    own.used_.clear();
    own.count(text);
    return own;
  }

  // Calls use(feature), in the order in which they first stand in the text.
  template <class Use>
  void for_each(Use use) const {
    for (const uint32_t slot : used_) use(slots_[slot]);
  }

 private:
  void count(const std::vector<const Meaning*>& text) {
    uint64_t previous = 0;
    const auto count_word = [&](std::string_view word) {
      const uint64_t hash = hash_term(word);
      add(hash, kWordWeight);
      if (previous != 0) add(mix(previous ^ mix(hash ^ kPairSeed)), kPairWeight);
      previous = hash;
      count_pieces(word);
    };
    for (const Meaning* meaning : text) for_each_word(meaning->words, count_word);
  }

  // The runs of kMinPiece to kMaxPiece characters (UTF-8) of "<word>".
  void count_pieces(std::string_view word) {
    framed_.assign(1, '<');
    framed_.insert(framed_.end(), word.begin(), word.end());
    framed_.push_back('>');
    for (size_t begin = 0; begin < framed_.size(); ++begin) {
      if (continues_character(framed_[begin])) continue;
      StringHash hash(kPieceSeed);
      size_t length = 0;
      for (size_t at = begin; at < framed_.size() && length < kMaxPiece; ++at) {
        hash.add(framed_[at]);
        if (at + 1 < framed_.size() && continues_character(framed_[at + 1])) continue;
        if (++length >= kMinPiece) add(hash.value(), kPieceWeight);
      }
    }
  }

  void add(uint64_t hash, float weight) {
    if (2 * used_.size() >= slots_.size()) grow();
    Feature& feature = slots_[slot_of(hash)];
    if (feature.frequency++ > 0) return;
    feature.hash = hash;
    feature.weight = weight;
    used_.push_back(static_cast<uint32_t>(&feature - slots_.data()));
  }

  size_t slot_of(uint64_t hash) const {
    size_t slot = hash & (slots_.size() - 1);
    while (slots_[slot].frequency > 0 && slots_[slot].hash != hash) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  void grow() {
    const auto old = std::exchange(slots_, std::vector<Feature>(2 * slots_.size()));
    for (uint32_t& used : used_) {
      const size_t slot = slot_of(old[used].hash);
      slots_[slot] = old[used];
      used = static_cast<uint32_t>(slot);
    }
  }

  std::vector<Feature> slots_ = std::vector<Feature>(4096);
  std::vector<uint32_t> used_;
  std::vector<char> framed_;
};

// 1 + ln tf
float dampened(uint32_t frequency) { return frequency == 1 ? 1.0f : 1 + std::log(static_cast<float>(frequency)); }

size_t idf_bucket(uint64_t hash) { return hash >> (64 - kIdfBits); }

void normalise(float* vector_D, int64_t dim) {
  double sum_squares = 0;
  for (int64_t i = 0; i < dim; ++i) sum_squares += static_cast<double>(vector_D[i]) * vector_D[i];
  if (sum_squares == 0) return;
  const auto scale = static_cast<float>(1 / std::sqrt(sum_squares));
  for (int64_t i = 0; i < dim; ++i) vector_D[i] *= scale;
}

}  // namespace

HashedEmbedder::HashedEmbedder(int64_t dim, std::vector<float> idf) : dim_(dim), idf_(std::move(idf)) {
  require(dim >= 8 && dim <= 1 << 16, ErrorCode::kRange, "dim: expected 8 to 65536, got ", dim);
}

HashedEmbedder HashedEmbedder::open(const std::string& path, Verify verify) {
  const Blob blob(path, kKind, verify);
  const size_t num_idf = blob.payload_bytes() / sizeof(float);
  require(num_idf == 0 || blob.payload_bytes() == sizeof(float) << kIdfBits, ErrorCode::kFormat, path, ": expected ",
          1 << kIdfBits, " weights, got ", num_idf);
  auto* first = reinterpret_cast<const float*>(blob.payload());
  return HashedEmbedder(blob.numbers()[0], std::vector<float>(first, first + num_idf));
}

void HashedEmbedder::embed(const std::vector<const Meaning*>& text, float* vector_D) const {
  std::fill_n(vector_D, dim_, 0.0f);
  FeatureCounts::of(text).for_each([&](const Feature& feature) {
    const float idf = idf_.empty() ? 1 : idf_[idf_bucket(feature.hash)];
    const float value = feature.weight * dampened(feature.frequency) * idf;
    const auto component = static_cast<int64_t>((feature.hash >> 1) % static_cast<uint64_t>(dim_));
    vector_D[component] += (feature.hash & 1) != 0 ? value : -value;
  });
  normalise(vector_D, dim_);
}

void HashedEmbedder::save(const std::string& path) const {
  BlobWriter file(path, kKind);
  file.write(idf_);
  file.finish({dim_});
}

IdfCounter::IdfCounter() : counts_(size_t{1} << kIdfBits) {}

void IdfCounter::add(const std::vector<const Meaning*>& text) {
  FeatureCounts::of(text).for_each([&](const Feature& feature) {
    std::atomic_ref(counts_[idf_bucket(feature.hash)]).fetch_add(1, std::memory_order_relaxed);
  });
  ++num_texts_;
}

std::vector<float> IdfCounter::idf() const {
  const auto num_texts = static_cast<double>(num_texts_);
  std::vector<float> idf(counts_.size());
  for (size_t i = 0; i < idf.size(); ++i) {
    const double frequency = std::min<double>(counts_[i], num_texts);
    idf[i] = frequency == 0 ? 0 : static_cast<float>(std::log(1 + (num_texts - frequency + 0.5) / (frequency + 0.5)));
  }
  return idf;
}

}  // namespace seekrl::search
