// The nodes that a walk over a graph has met.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace seekrl::search {

// Open addressing, a few times larger than what is in it.
class VisitedNodes {
 public:
  void clear(size_t expected) {
    const size_t num_slots = std::bit_ceil(std::max<size_t>(64, 2 * expected));
    slots_.assign(num_slots, kNoNode);
    count_ = 0;
  }
  // Whether it was not there yet.
  bool insert(uint32_t node) {
    if (2 * count_ >= slots_.size()) grow();
    uint32_t& slot = find(node);
    if (slot == node) return false;
    slot = node;
    ++count_;
    return true;
  }

 private:
  static constexpr uint32_t kNoNode = UINT32_MAX;

  uint32_t& find(uint32_t node) {
    const size_t mask = slots_.size() - 1;
    size_t at = (node * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (slots_[at] != kNoNode && slots_[at] != node) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<uint32_t> old(slots_.size() * 2, kNoNode);
    old.swap(slots_);
    for (const uint32_t node : old) {
      if (node != kNoNode) find(node) = node;
    }
  }

  std::vector<uint32_t> slots_;
  size_t count_ = 0;
};

}  // namespace seekrl::search
