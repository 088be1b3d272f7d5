// The k best of a stream of scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace seekrl::search {

template <class Score, class Id>
struct ScoredAs {
  Score score;
  Id id;
};

// Best first; among equal scores the lower id, so that results do not depend on the order of work.
template <class Score, class Id>
bool is_better(const ScoredAs<Score, Id>& a, const ScoredAs<Score, Id>& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

template <class Score, class Id>
class BestOf {
 public:
  using Entry = ScoredAs<Score, Id>;

  // Scores below `floor` do not come.
  explicit BestOf(int64_t k, Score floor = -std::numeric_limits<Score>::infinity())
      : k_(static_cast<size_t>(k)), floor_(floor), threshold_(floor) {
    heap_.reserve(k_);
  }

  size_t k() const { return k_; }

  // Below this nothing enters; at it, only a lower id.
  Score threshold() const { return threshold_; }

  void offer(const Entry& entry) {
    if (heap_.size() == k_) {
      if (!is_better(entry, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_better<Score, Id>);
      heap_.back() = entry;
    } else {
      heap_.push_back(entry);
    }
    std::push_heap(heap_.begin(), heap_.end(), is_better<Score, Id>);
    if (heap_.size() == k_) threshold_ = heap_.front().score;
  }

  void offer_all(const BestOf& other) {
    for (const Entry& each : other.heap_) offer(each);
  }

  void clear() {
    heap_.clear();
    threshold_ = floor_;
  }

  // In no order.
  const std::vector<Entry>& found() const { return heap_; }

  // Writes k ids and scores, best first; -1 and 0 where there are fewer.
  template <class Out>
  void take(int32_t* ids, Out* scores) {
    std::sort_heap(heap_.begin(), heap_.end(), is_better<Score, Id>);
    for (size_t i = 0; i < k_; ++i) {
      ids[i] = i < heap_.size() ? static_cast<int32_t>(heap_[i].id) : -1;
      scores[i] = i < heap_.size() ? static_cast<Out>(heap_[i].score) : 0;
    }
    clear();
  }

 private:
  size_t k_;
  Score floor_, threshold_;
  std::vector<Entry> heap_;  // the worst in front
};

using Scored = ScoredAs<float, int32_t>;
using TopK = BestOf<float, int32_t>;

}  // namespace seekrl::search
