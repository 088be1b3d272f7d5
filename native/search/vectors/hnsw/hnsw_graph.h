// A navigable small-world graph in levels (Malkov and Yashunin, 2016): who is linked to whom, built and walked.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/pages.h"
#include "search/blob.h"
#include "search/vectors/dots/dots.h"
#include "search/vectors/vector_rows.h"

namespace seekrl::search {

struct HnswOptions {
  int64_t connectivity = 32;       // neighbours of a node; twice as many on the ground level
  int64_t expansion_add = 128;     // candidates kept while inserting
  int64_t expansion_search = 128;  // candidates kept while searching: recall against time
};

// A row and how near it is.
struct Near {
  float score;
  uint32_t row;
};

// Nodes are rows. A node's level depends on its number alone, so that all memory is laid out beforehand: the ground
// links of node i stand at i, and the place of its higher ones is known without looking at any other node.
//
// A row equal to one that is there already is not linked: it hangs on that one's chain of twins. Among many equal rows
// links would lead nowhere else.
//
// Threads insert and walk at the same time. Links are written under a lock of their node and read without one: a reader
// may meet a list half rewritten, whose entries are nodes all the same.
class HnswGraph {
 public:
  // In memory, with room for `capacity` nodes.
  HnswGraph(const HnswOptions& options, int64_t capacity);
  // A part of a file, which outlives this; ERR_FORMAT unless it holds `count` nodes.
  HnswGraph(const std::byte* section, size_t num_bytes, int64_t count);
  // The same nodes in memory, with room for more.
  HnswGraph(const HnswGraph& other, int64_t count, int64_t capacity);

  // Links row `node`, which `rows` holds already.
  void insert(uint32_t node, const VectorRows& rows, Dots dots);

  // The nearest rows that a walk which keeps `expansion` candidates finds, best first: fewer only if no more can be
  // reached.
  std::vector<Near> walk(const StoredQuery& query, const VectorRows& rows, Dots dots, int64_t expansion) const;

  // Calls use(row) for the rows equal to `row`, which a walk has found.
  template <class Use>
  void for_each_twin(uint32_t row, Use use) const {
    int64_t num_left = num_nodes_;  // a damaged file may hold a ring
    for (uint32_t twin = next_twin(row); twin < num_nodes_ && num_left > 0; twin = next_twin(twin), --num_left)
      use(twin);
  }

  const HnswOptions& options() const { return options_; }
  void write(BlobWriter& file, int64_t count) const;
  size_t section_bytes(int64_t count) const;

 private:
  struct Header;
  class Walk;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kNumLocks = 4096;

  // A node's list on one level: its end is the first kNone or the limit. Without lists of this level: empty.
  std::span<uint32_t> links_of(uint32_t node, int level) const {
    const int64_t width = options_.connectivity;
    if (level == 0) return {ground_ + node * 2 * width, static_cast<size_t>(2 * width)};
    const int64_t list = static_cast<int64_t>(starts_[node]) + level - 1;
    if (list >= num_lists_) return {};
    return {upper_ + list * width, static_cast<size_t>(width)};
  }
  int level_of(uint32_t node) const;
  int64_t lists_before(int64_t node) const;
  void lay_out(int64_t capacity);
  void link_back(uint32_t node, const Near& neighbour, int level, const VectorRows& rows, Dots dots);
  bool hang_on_twin(uint32_t node, const std::vector<Near>& nearest, const VectorRows& rows);
  uint32_t next_twin(uint32_t row) const { return load_link(twins_[row]) - 1; }
  static uint32_t load_link(uint32_t& link) { return std::atomic_ref(link).load(std::memory_order_acquire); }
  static int levels_of(uint64_t entry) { return static_cast<int>(entry >> 32); }
  void set_links(uint32_t node, int level, const std::vector<Near>& nearest);

  HnswOptions options_;
  int64_t num_nodes_ = 0;  // that there is room for
  Pages owned_ground_, owned_upper_, owned_twins_;
  std::vector<uint32_t> owned_starts_;
  uint32_t* ground_ = nullptr;        // [num_nodes, 2 connectivity]; written only when owned
  uint32_t* upper_ = nullptr;         // [num_lists, connectivity], from a node's level 1 up
  uint32_t* twins_ = nullptr;         // [num_nodes], the next row equal to it + 1, or 0
  const uint32_t* starts_ = nullptr;  // [num_nodes], the first list of each
  int64_t num_lists_ = 0;
  std::atomic<uint64_t> entry_{0};  // levels of the tallest node in the upper half, the node in the lower; 0 when empty
  std::mutex entry_mutex_;
  std::vector<std::mutex> locks_;
};

}  // namespace seekrl::search
