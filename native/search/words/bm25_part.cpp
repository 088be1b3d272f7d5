// MaxScore by windows: within a few thousand passages the terms that matter most are summed into an array; what could
// still be among the best is then scored exactly, in double.
#include "search/words/bm25_part.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

namespace seekrl::search {

namespace {

constexpr uint32_t kWindow = 8192;
// Looking a passage up in the postings of a term costs about as much as summing so many of them.
constexpr double kProbeCost = 6;

// One term of the query in one index.
struct Cursor {
  Postings postings;
  uint32_t term;       // of the query
  double weight;       // idf times the number of repeats
  double max_score;    // of any passage
  uint32_t next = 0;   // posting that is not summed yet
  uint32_t probe = 0;  // posting up to which exact scores have come
  double window_max = 0;
  double below = 0;  // what this and all cursors before it can add within the window
};

// Scratch of a thread.
struct Window {
  std::vector<float> sums = std::vector<float>(kWindow);                // zero between windows
  std::vector<uint64_t> has_sum = std::vector<uint64_t>(kWindow / 64);  // a bit for each sum; zero between windows
  std::vector<float> ranked;                                            // the sums, for selection

  // Calls use(offset) for each sum, in order.
  template <class Use>
  void for_each(Use use) const {
    for (uint32_t word = 0; word < kWindow / 64; ++word) {
      for (uint64_t bits = has_sum[word]; bits != 0; bits &= bits - 1) {
        use(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  }

  void clear() {
    std::fill(sums.begin(), sums.end(), 0.0f);
    std::fill(has_sum.begin(), has_sum.end(), 0);
  }
};

// Not inlined: what it returns is looked up once for each search and then kept.
[[gnu::noinline]] Window& own_window() {
  thread_local Window window;
  return window;
}

// Searches one index. Pair: how the file stores the pairs.
template <class Pair>
class IndexSearch {
 public:
  IndexSearch(const Bm25Query& query, const Impacts& impacts, int64_t first, const RowSet* excluded, BestPassages& best)
      : query_(query),
        impacts_(impacts),
        first_(first),
        excluded_(excluded),
        best_(best),
        contributions_(query.terms.size()) {}

  void add(const Postings& postings, uint32_t term, double bound_factor) {
    const double weight = query_.idf[term] * query_.counts[term];
    cursors_.push_back({postings, term, weight, weight * postings.max_impact * bound_factor});
    bound_factor_ = bound_factor;
  }

  void run() {
    window_.clear();
    // More than the sums in float can be off.
    slack_ = 1 + 1e-6 * static_cast<double>(cursors_.size() + 8);
    for (uint32_t start; (start = next_start()) != kNone;) search_window(start & ~(kWindow - 1));
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // The first passage that may still be among the best: it holds one of the terms without which no sum suffices.
  uint32_t next_start() {
    std::sort(cursors_.begin(), cursors_.end(),
              [](const Cursor& a, const Cursor& b) { return a.max_score < b.max_score; });
    uint32_t start = kNone;
    double below = 0;
    for (auto& cursor : cursors_) {
      below += cursor.max_score;
      if (below * slack_ <= best_.threshold()) continue;
      if (cursor.next < cursor.postings.count && cursor.postings.passages[cursor.next] < from_) {
        cursor.next = cursor.postings.find(from_, cursor.next);
      }
      if (cursor.next < cursor.postings.count) start = std::min(start, cursor.postings.passages[cursor.next]);
    }
    return start;
  }

  // What a term can add within [begin, end).
  double window_max(Cursor& cursor, uint32_t begin, uint32_t end) {
    const Postings& postings = cursor.postings;
    cursor.next = postings.find(begin, cursor.next);
    if (cursor.next == postings.count || postings.passages[cursor.next] >= end) return 0;
    if (postings.blocks == nullptr) return cursor.max_score;
    const uint32_t num_blocks = (postings.count + Postings::kBlockSize - 1) / Postings::kBlockSize;
    float largest = 0;
    for (uint32_t block = cursor.next / Postings::kBlockSize; block < num_blocks; ++block) {
      largest = std::max(largest, postings.blocks[block].max_impact);
      if (postings.blocks[block].last >= end) break;
    }
    return cursor.weight * largest * bound_factor_;
  }

  void search_window(uint32_t begin) {
    const uint32_t end = begin + kWindow;
    from_ = end;
    for (auto& cursor : cursors_) cursor.window_max = window_max(cursor, begin, end);
    std::sort(cursors_.begin(), cursors_.end(),
              [](const Cursor& a, const Cursor& b) { return a.window_max < b.window_max; });
    double below = 0;
    size_t num_optional = 0;
    for (auto& cursor : cursors_) {
      cursor.below = below += cursor.window_max;
      if (below * slack_ <= best_.threshold()) ++num_optional;
    }
    if (num_optional == cursors_.size()) return;
    num_optional = sum_cheap_ones(num_optional);
    for (size_t i = num_optional; i < cursors_.size(); ++i) sum(cursors_[i], begin, end);
    if (excluded_ != nullptr) drop_excluded(begin);
    score_candidates(begin, num_optional);
    window_.clear();
  }

  // How many terms remain to be looked up when those are summed that cost less so.
  size_t sum_cheap_ones(size_t num_optional) const {
    double num_summed = 0;
    for (size_t i = num_optional; i < cursors_.size(); ++i) num_summed += cursors_[i].postings.count;
    for (; num_optional > 0; --num_optional) {
      const double count = cursors_[num_optional - 1].postings.count;
      if (count > kProbeCost * num_summed) break;
      num_summed += count;
    }
    return num_optional;
  }

  void sum(Cursor& cursor, uint32_t begin, uint32_t end) {
    const auto weight = static_cast<float>(cursor.weight);
    const uint32_t* passages = cursor.postings.passages;
    auto* pairs = static_cast<const Pair*>(cursor.postings.pairs);
    float* sums = window_.sums.data();
    uint64_t* has_sum = window_.has_sum.data();
    uint32_t i = cursor.next;
    for (const uint32_t count = cursor.postings.count; i < count && passages[i] < end; ++i) {
      const uint32_t offset = passages[i] - begin;
      sums[offset] += weight * impacts_.rounded[pairs[i]];
      has_sum[offset / 64] |= uint64_t{1} << (offset % 64);
    }
    cursor.next = i;
  }

  // As if no term had been found in them.
  void drop_excluded(uint32_t begin) {
    window_.for_each([&](uint32_t offset) {
      if (!excluded_->has(first_ + begin + offset)) return;
      window_.sums[offset] = 0;
      window_.has_sum[offset / 64] &= ~(uint64_t{1} << (offset % 64));
    });
  }

  // The cursors before `num_optional` are not in the sums.
  void score_candidates(uint32_t begin, size_t num_optional) {
    const float* sums = window_.sums.data();
    const double optional = num_optional == 0 ? 0 : cursors_[num_optional - 1].below;
    double needed = best_.threshold();
    if (needed == 0) needed = kth_sum() / slack_;
    const auto least = static_cast<float>(needed / slack_ - optional);
    window_.for_each([&](uint32_t offset) {
      if (sums[offset] >= least) score(begin + offset, sums[offset], num_optional);
    });
  }

  // The k-th highest sum, or 0: what the k-th best of the window scores at least.
  double kth_sum() {
    auto& ranked = window_.ranked;
    ranked.clear();
    window_.for_each([&](uint32_t offset) { ranked.push_back(window_.sums[offset]); });
    if (ranked.size() <= best_.k()) return 0;
    const auto kth = ranked.begin() + static_cast<ptrdiff_t>(best_.k()) - 1;
    std::nth_element(ranked.begin(), kth, ranked.end(), std::greater<>());
    return *kth;
  }

  void score(uint32_t passage, double sum, size_t num_optional) {
    std::fill(contributions_.begin(), contributions_.end(), 0);
    for (size_t i = num_optional; i-- > 0;) {
      if ((sum + cursors_[i].below) * slack_ <= best_.threshold()) return;
      sum += contribute(cursors_[i], passage);
    }
    if (sum * slack_ <= best_.threshold()) return;
    for (size_t i = num_optional; i < cursors_.size(); ++i) contribute(cursors_[i], passage);
    double exact = 0;
    for (const uint32_t term : query_.order) exact += contributions_[term];
    best_.offer({exact, first_ + passage});
  }

  // Returns what the term adds, repeats included.
  double contribute(Cursor& cursor, uint32_t passage) {
    const Postings& postings = cursor.postings;
    cursor.probe = postings.find(passage, cursor.probe);
    if (cursor.probe == postings.count || postings.passages[cursor.probe] != passage) return 0;
    const double impact = impacts_.exact[static_cast<const Pair*>(postings.pairs)[cursor.probe]];
    contributions_[cursor.term] = query_.idf[cursor.term] * impact;
    return cursor.weight * impact;
  }

  const Bm25Query& query_;
  const Impacts& impacts_;
  const int64_t first_;
  const RowSet* excluded_;
  BestPassages& best_;
  std::vector<Cursor> cursors_;
  std::vector<double> contributions_;  // to the passage that is being scored, by term of the query
  Window& window_ = own_window();
  double slack_ = 1, bound_factor_ = 1;
  uint32_t from_ = 0;  // passages before it are done
};

template <class Pair>
void search_pairs(const Bm25Part& part, const Bm25Query& query, const std::vector<Postings>& postings,
                  const RowSet* excluded, BestPassages& best) {
  IndexSearch<Pair> search(query, part.impacts, part.first, excluded, best);
  for (uint32_t term = 0; term < postings.size(); ++term) {
    if (postings[term].count > 0) search.add(postings[term], term, part.bound_factor);
  }
  search.run();
}

}  // namespace

void search_part(const Bm25Part& part, const Bm25Query& query, const std::vector<Postings>& postings,
                 const RowSet* excluded, BestPassages& best) {
  const auto search = part.index->has_wide_pairs() ? search_pairs<uint32_t> : search_pairs<uint16_t>;
  search(part, query, postings, excluded, best);
}

}  // namespace seekrl::search
