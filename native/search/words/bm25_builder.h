// Builds a BM25 index of any number of passages in bounded memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "search/words/bm25.h"
#include "search/words/bm25_runs.h"

namespace seekrl::search {

// Hashes of terms to small numbers, in order of arrival.
class TermNumbers {
 public:
  TermNumbers() { clear(); }
  uint32_t number_of(uint64_t term);
  const std::vector<uint64_t>& terms() const { return terms_; }
  void clear();

 private:
  struct Slot {
    uint64_t term;  // 0 where empty: hash_term is never 0
    uint32_t number;
  };
  std::vector<Slot> slots_;
  std::vector<uint64_t> terms_;
};

// The different TermFrequency of a corpus, numbered in order of arrival.
class PairNumbers {
 public:
  PairNumbers() : common_(kCommonTf * kCommonDl) {}
  uint32_t number_of(const TermFrequency& pair);
  const std::vector<TermFrequency>& pairs() const { return pairs_; }

 private:
  static constexpr uint32_t kCommonTf = 16, kCommonDl = 512;
  std::vector<uint32_t> common_;  // number + 1
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> rare_;
  std::vector<TermFrequency> pairs_;
};

// While adding it holds some `max_bytes`, while saving 16 bytes for each different term and 128 KiB for each run.
class Bm25Builder {
 public:
  // scratch: a path on the file system that takes the runs.
  Bm25Builder(const Bm25Options& options, std::string scratch, int64_t max_bytes);

  // One passage, whose title is the first `num_title` of its meanings; passages are numbered from 0. ERR_STATE after
  // `save`.
  void add(const std::vector<const Meaning*>& text, size_t num_title);
  void save(const std::string& path);

 private:
  struct TermPair {
    uint32_t term, pair;
  };

  size_t num_bytes() const;
  void spill();

  Bm25Options options_;
  std::string scratch_;
  size_t max_bytes_;
  std::unique_ptr<Bm25Runs> runs_;  // none until the first
  bool is_saved_ = false;
  int64_t num_passages_ = 0, num_terms_ = 0;
  PairNumbers pairs_;
  std::vector<uint32_t> ids_;  // of the passage that is being added

  // The run that is being made, of the passages from `first_` on.
  int64_t first_ = 0;
  TermNumbers terms_;
  std::vector<uint32_t> counts_;    // df, by term
  std::vector<TermPair> postings_;  // passage after passage
  std::vector<uint64_t> ends_;      // of each passage, into postings_
};

}  // namespace seekrl::search
