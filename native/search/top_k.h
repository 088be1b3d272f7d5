// The k best of a stream of scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace seekrl::search {

struct Scored {
  float score;
  int32_t id;
};

// Best first; among equal scores the lower id, so that results do not depend on the order of work.
inline bool is_better(const Scored& a, const Scored& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

class TopK {
 public:
  explicit TopK(int64_t k) : k_(static_cast<size_t>(k)) { heap_.reserve(k_); }

  // Below this nothing enters; at it, only a lower id.
  float threshold() const { return heap_.size() < k_ ? -std::numeric_limits<float>::infinity() : heap_.front().score; }

  void offer(Scored scored) {
    if (heap_.size() == k_) {
      if (!is_better(scored, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_better);
      heap_.back() = scored;
    } else {
      heap_.push_back(scored);
    }
    std::push_heap(heap_.begin(), heap_.end(), is_better);
  }

  void offer_all(const TopK& other) {
    for (const Scored& each : other.heap_) offer(each);
  }

  void clear() { heap_.clear(); }

  // In no order.
  const std::vector<Scored>& found() const { return heap_; }

  // Writes k ids and scores, best first; -1 and 0 where there are fewer.
  void take(int32_t* ids, float* scores) {
    std::sort_heap(heap_.begin(), heap_.end(), is_better);
    for (size_t i = 0; i < k_; ++i) {
      ids[i] = i < heap_.size() ? heap_[i].id : -1;
      scores[i] = i < heap_.size() ? heap_[i].score : 0;
    }
    heap_.clear();
  }

 private:
  size_t k_;
  std::vector<Scored> heap_;  // the worst in front
};

}  // namespace seekrl::search
