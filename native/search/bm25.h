// BM25 whose scores are computed when the index is built: a posting holds what its term adds to its passage.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "search/blob.h"
#include "search/lexicon.h"

namespace seekrl::search {

// Robertson's BM25 with Lucene's idf, which is never negative. For a term that occurs `tf` times in a passage of `dl`
// terms, and in `df` of N passages:
//   ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * dl / average dl))
struct Bm25Options {
  double k1 = 1.2;
  double b = 0.75;
};

// Collects passages in memory: 8 bytes for each different term of each passage, 16 while saving.
class Bm25Builder {
 public:
  explicit Bm25Builder(const Bm25Options& options);

  // One passage; passages are numbered from 0.
  void add(const std::vector<const Meaning*>& text);
  void save(const std::string& path) const;
  int64_t count() const { return static_cast<int64_t>(passage_lengths_.size()); }

 private:
  struct Posting {
    uint32_t term, frequency;
  };

  Bm25Options options_;
  std::unordered_map<uint64_t, uint32_t> term_ids_;  // by hash of the term
  std::vector<uint32_t> passage_frequencies_;        // df, by term
  std::vector<Posting> postings_;                    // passage after passage
  std::vector<uint64_t> passage_ends_;               // into postings_
  std::vector<uint32_t> passage_lengths_;            // dl
};

class Bm25Index {
 public:
  Bm25Index(const std::string& path, Verify verify);

  // Sums over the query's terms, a repeated term as often as it stands there. Writes `top_k` ids and scores, best
  // first; -1 and 0 where fewer passages hold a term of the query. From any thread.
  void search(const std::vector<const Meaning*>& query, int64_t top_k, int32_t* ids, float* scores) const;

  int64_t count() const { return num_passages_; }

  static constexpr BlobKind kKind = {'b', 'm', '2', '5'};

  // The vocabulary on disk: an open-addressing table of a power of two slots.
  struct Slot {
    uint64_t hash;  // of the term; 0 in an empty slot
    uint64_t term;
  };

 private:
  // The postings of a term, or -1.
  int64_t find_term(uint64_t hash) const;

  Blob blob_;
  int64_t num_passages_, num_slots_;
  const Slot* slots_;
  const uint64_t* starts_;    // [num_terms + 1], into the two below
  const uint32_t* passages_;  // ascending within a term
  const float* impacts_;
};

}  // namespace seekrl::search
