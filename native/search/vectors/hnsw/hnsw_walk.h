// Walking a graph: candidates live in one list sorted by score, which is short enough to insert by moving.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "search/vectors/hnsw/hnsw_graph.h"
#include "search/vectors/hnsw/visited_nodes.h"

namespace seekrl::search {

// A row of the list of candidates; `is_open` until its links have been followed.
struct Candidate {
  float score;
  uint32_t row : 31;
  uint32_t is_open : 1;
};

// What walks of one thread write into, one after the other.
struct WalkScratch {
  VisitedNodes visited;
  std::vector<Candidate> candidates;
  std::vector<uint32_t> nodes;
  std::vector<const std::byte*> rows;
  std::vector<float> scores;
};

inline WalkScratch& walk_scratch() {
  thread_local WalkScratch own;
  return own;
}

// Scores of `nodes` against one stored vector, in `own.scores`.
inline void score_nodes(const std::byte* query, float scale, const VectorRows& rows, Dots dots,
                        const std::vector<uint32_t>& nodes, WalkScratch& own) {
  own.rows.clear();
  for (const uint32_t node : nodes) own.rows.push_back(rows.at(node));
  own.scores.resize(nodes.size());
  dots(own.rows.data(), static_cast<int64_t>(nodes.size()), &query, 1, rows.format().dim, own.scores.data());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const float score = own.scores[i] * scale * rows.scale(nodes[i]);
    own.scores[i] = std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;  // keeps sorting sane
  }
}

// One query on its way through the levels.
class HnswGraph::Walk {
 public:
  Walk(const HnswGraph& graph, const std::byte* query, float scale, const VectorRows& rows, Dots dots)
      : graph_(graph), query_(query), scale_(scale), rows_(rows), dots_(dots), own_(walk_scratch()) {}

  Near start(uint32_t node) {
    own_.nodes.assign(1, node);
    score();
    return {own_.scores[0], node};
  }

  // From node to better node on one level until there is none.
  Near descend(Near from, int level) {
    for (bool is_better = true; is_better;) {
      is_better = false;
      gather(from.row, level, [](uint32_t) { return true; });
      for (size_t i = 0; i < own_.nodes.size(); ++i) {
        if (own_.scores[i] <= from.score) continue;
        from = {own_.scores[i], own_.nodes[i]};
        is_better = true;
      }
    }
    return from;
  }

  // Follows the links of the best candidate whose links were not followed, until all of the best `expansion` were.
  const std::vector<Candidate>& spread(Near from, int level, size_t expansion) {
    auto& candidates = own_.candidates;
    own_.visited.clear(expansion * static_cast<size_t>(graph_.options_.connectivity));
    own_.visited.insert(from.row);
    candidates.assign(1, {from.score, from.row, 1});
    for (size_t at = 0; at < candidates.size();) {
      if (!candidates[at].is_open) {
        ++at;
        continue;
      }
      candidates[at].is_open = 0;
      if (at + 1 < candidates.size()) prefetch_links(candidates[at + 1].row, level);
      gather(candidates[at].row, level, [this](uint32_t node) { return own_.visited.insert(node); });
      size_t lowest = candidates.size();
      for (size_t i = 0; i < own_.nodes.size(); ++i) {
        lowest = std::min(lowest, offer({own_.scores[i], own_.nodes[i], 1}, expansion));
      }
      at = std::min(at + 1, lowest);
    }
    return candidates;
  }

 private:
  // The next candidate is likely to be the one whose links are followed next.
  void prefetch_links(uint32_t node, int level) const {
    const auto links = graph_.links_of(node, level);
    for (size_t i = 0; i < links.size(); i += 16) __builtin_prefetch(&links[i]);
  }

  // All of a node's new neighbours are on their way to the cache before the first is compared.
  void prefetch_row(uint32_t node) const {
    const std::byte* row = rows_.at(node);
    for (size_t line = 0; line < num_prefetched_; line += 64) __builtin_prefetch(row + line);
  }

  void score() { score_nodes(query_, scale_, rows_, dots_, own_.nodes, own_); }

  template <class Admit>
  void gather(uint32_t node, int level, Admit admit) {
    own_.nodes.clear();
    for (uint32_t& link : graph_.links_of(node, level)) {
      const uint32_t linked = load_link(link);
      if (linked >= graph_.num_nodes_) break;
      if (!admit(linked)) continue;
      own_.nodes.push_back(linked);
      prefetch_row(linked);
    }
    score();
  }

  // Where the candidate was put; past the end if it was not.
  size_t offer(Candidate candidate, size_t limit) {
    auto& candidates = own_.candidates;
    if (candidates.size() == limit) {
      if (candidate.score <= candidates.back().score) return limit;
      candidates.pop_back();
    }
    const auto place = std::upper_bound(candidates.begin(), candidates.end(), candidate,
                                        [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    return static_cast<size_t>(candidates.insert(place, candidate) - candidates.begin());
  }

  const HnswGraph& graph_;
  const std::byte* query_;
  float scale_;
  const VectorRows& rows_;
  Dots dots_;
  WalkScratch& own_;
  // Bytes of a row that are fetched ahead; the processor goes on by itself.
  static constexpr size_t kMaxPrefetched = 1024;
  const size_t num_prefetched_ = std::min(rows_.format().bytes(), kMaxPrefetched);
};

}  // namespace seekrl::search
