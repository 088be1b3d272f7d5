// Turns text into a vector without a model: words and their letters, hashed into a fixed width.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "search/blob.h"
#include "search/words/lexicon.h"

namespace seekrl::search {

// Features of a text: its words, pairs of neighbouring words, and for each word the runs of 3 to 5 characters in
// "<word>". A feature adds sign * weight * (1 + ln tf) * idf to one component; the sum has length one. Without a corpus
// every idf is 1.
class HashedEmbedder {
 public:
  explicit HashedEmbedder(int64_t dim, std::vector<float> idf = {});
  static HashedEmbedder open(const std::string& path, Verify verify);

  // Writes [dim]; zeros when the corpus knows nothing of the text.
  void embed(const std::vector<const Meaning*>& text, float* vector_D) const;
  void save(const std::string& path) const;

  int64_t dim() const { return dim_; }

  static constexpr BlobKind kKind = {'h', 'e', 'm', 'b'};

 private:
  int64_t dim_;
  std::vector<float> idf_;
};

// Counts in how many texts of a corpus each feature stands.
class IdfCounter {
 public:
  IdfCounter();
  // From any number of threads at once.
  void add(const std::vector<const Meaning*>& text);
  // ln(1 + (N - df + 0.5) / (df + 0.5)), and 0 for a feature that no text holds: it can match nothing, only disturb.
  std::vector<float> idf() const;

 private:
  std::vector<uint32_t> counts_;
  std::atomic<int64_t> num_texts_{0};
};

}  // namespace seekrl::search
