// Features are hashed twice over: low bits choose the component and its sign, high bits the idf.
#include "search/hashed_embedder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "search/words.h"

namespace seekrl::search {

namespace {

// By recall of answers on Natural Questions over 9,733 Wikipedia passages: letters carry more than pairs of words.
constexpr float kWordWeight = 1.0f, kPairWeight = 0.2f, kPieceWeight = 0.7f;
constexpr size_t kMinPiece = 3, kMaxPiece = 5;
// Features share an idf when their hashes agree in the highest bits.
constexpr int kIdfBits = 20;
constexpr uint64_t kPairSeed = 0x70616972, kPieceSeed = 0x70696563;

struct Feature {
  uint64_t hash;
  float weight;
};

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The runs of kMinPiece to kMaxPiece characters (UTF-8) of "<word>".
void add_pieces(std::string_view word, std::vector<Feature>& features) {
  std::string framed = "<";
  framed.append(word).push_back('>');
  std::vector<size_t> starts;
  for (size_t i = 0; i < framed.size(); ++i) {
    if (!continues_character(framed[i])) starts.push_back(i);
  }
  const size_t num_characters = starts.size();
  starts.push_back(framed.size());
  for (size_t begin = 0; begin < num_characters; ++begin) {
    for (size_t length = kMinPiece; length <= kMaxPiece && begin + length <= num_characters; ++length) {
      const auto piece = std::string_view(framed).substr(starts[begin], starts[begin + length] - starts[begin]);
      features.push_back({hash_string(piece, kPieceSeed), kPieceWeight});
    }
  }
}

// All features of a text, sorted by hash so that equal ones are neighbours.
std::vector<Feature> features_of(const std::vector<const Meaning*>& text) {
  std::vector<Feature> features;
  uint64_t previous = 0;
  const auto add = [&](std::string_view word) {
    const uint64_t hash = hash_term(word);
    features.push_back({hash, kWordWeight});
    if (previous != 0) features.push_back({mix(previous ^ mix(hash ^ kPairSeed)), kPairWeight});
    previous = hash;
    add_pieces(word, features);
  };
  for (const Meaning* meaning : text) for_each_word(meaning->words, add);
  std::sort(features.begin(), features.end(), [](const Feature& a, const Feature& b) { return a.hash < b.hash; });
  return features;
}

// Calls use(feature, tf) once for each different feature.
template <class Use>
void for_each_feature(const std::vector<const Meaning*>& text, Use use) {
  const auto features = features_of(text);
  for (size_t i = 0; i < features.size();) {
    const size_t first = i;
    while (i < features.size() && features[i].hash == features[first].hash) ++i;
    use(features[first], i - first);
  }
}

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
  for_each_feature(text, [&](const Feature& feature, size_t frequency) {
    const float idf = idf_.empty() ? 1 : idf_[idf_bucket(feature.hash)];
    const float value = feature.weight * (1 + std::log(static_cast<float>(frequency))) * idf;
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
  for_each_feature(text, [&](const Feature& feature, size_t) {
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
