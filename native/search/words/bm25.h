// BM25: an index of term frequencies, built in bounded memory, mapped from disk, searched alone or with others as one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/blob.h"
#include "search/words/lexicon.h"

namespace seekrl::search {

// Robertson's BM25 with Lucene's idf, which is never negative. For a term that occurs `tf` times in a passage of `dl`
// terms, and in `df` of N passages:
//   ln(1 + (N - df + 0.5) / (df + 0.5)) * (tf / (tf + k1 * (1 - b + b * dl / average dl)))
// The second factor is the term's impact. Letters within longer terms and the stop words of titles are terms too, but
// add nothing to dl: whatever asks for other terms is scored as if they were not there.
struct Bm25Options {
  double k1 = 1.2;
  double b = 0.75;
};

// What the impact of a posting depends on. Few pairs cover a corpus, so a posting holds the number of its pair, and a
// search computes each pair's impact once, with the average length of all the indexes that it looks at.
struct TermFrequency {
  uint32_t frequency;  // tf
  uint32_t length;     // dl
};

double average_length(int64_t num_passages, int64_t num_terms);
double impact(const TermFrequency& pair, const Bm25Options& options, double average_length);

// The passages that hold a term, ascending, and their pairs; from `kBlockSize + 1` passages on, one block for each
// `kBlockSize` of them.
struct Postings {
  static constexpr uint32_t kBlockSize = 128;
  struct Block {
    uint32_t last;     // passage
    float max_impact;  // with the index's own average length, rounded up
  };

  uint32_t count = 0;
  float max_impact = 0;
  const Block* blocks = nullptr;
  const uint32_t* passages = nullptr;
  const void* pairs = nullptr;  // u16, or u32 where there are more than 65,536 pairs

  // The first posting from `from` on whose passage is at least `passage`.
  uint32_t find(uint32_t passage, uint32_t from) const {
    return from < count && passages[from] >= passage ? from : find_further(passage, from);
  }

 private:
  uint32_t find_further(uint32_t passage, uint32_t from) const;
};

// A mapped index.
//
// The payload: for each term its count (u32), the highest impact (f32), blocks, passages (u32) and pairs, padded to a
// multiple of 4 bytes; at the next multiple of 8 the hashes of the terms, ascending (u64), where each term begins
// (u64), and the pairs. Numbers of the blob: passages, terms in all of them, k1, b, different terms, pairs.
class Bm25Index {
 public:
  // ERR_FORMAT for a damaged file; with kAll also for one whose checksum is right and whose postings lead elsewhere.
  Bm25Index(const std::string& path, Verify verify);

  // Nothing for a term that no passage holds.
  Postings find(uint64_t term) const;

  int64_t count() const { return num_passages_; }
  int64_t num_terms() const { return num_terms_; }
  const Bm25Options& options() const { return options_; }
  const TermFrequency* pairs() const { return pairs_; }
  int64_t num_pairs() const { return num_pairs_; }
  bool has_wide_pairs() const { return num_pairs_ > kMaxNarrowPairs; }

  static constexpr BlobKind kKind = {'b', 'm', '2', '5'};
  static constexpr int64_t kMaxNarrowPairs = 1 << 16;

 private:
  Postings postings_at(uint64_t start) const;
  void check_postings(const std::string& path) const;
  bool is_sound(uint64_t start) const;

  Blob blob_;
  Bm25Options options_;
  int64_t num_passages_, num_terms_, num_different_, num_pairs_;
  const uint64_t* hashes_;
  const uint64_t* starts_;
  const TermFrequency* pairs_;
};

}  // namespace seekrl::search
