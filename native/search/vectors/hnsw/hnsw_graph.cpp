// Inserting: a row is linked with the nearest that a walk finds, and they with it.
#include "search/vectors/hnsw/hnsw_graph.h"

#include <algorithm>
#include <cstring>

#include "search/vectors/hnsw/hnsw_walk.h"

namespace seekrl::search {

namespace {

// Candidates are compared with this many chosen neighbours before the next look at whether one was nearer.
constexpr size_t kCompareAtOnce = 8;

void store_link(uint32_t& link, uint32_t node) { std::atomic_ref(link).store(node, std::memory_order_release); }

uint64_t packed(int num_levels, uint32_t node) { return static_cast<uint64_t>(num_levels) << 32 | node; }

// Keeps of `nearest`, which is sorted, those that are nearer to the base than to any kept before: links in all
// directions rather than many in one.
std::vector<Near> spread_out(const std::vector<Near>& nearest, size_t limit, const VectorRows& rows, Dots dots) {
  std::vector<Near> kept;
  std::vector<const std::byte*> kept_rows;
  float scores[kCompareAtOnce];
  for (const Near& candidate : nearest) {
    if (kept.size() == limit) break;
    const std::byte* row = rows.at(candidate.row);
    const float scale = rows.scale(candidate.row);
    bool is_spread = true;
    for (size_t first = 0; is_spread && first < kept.size(); first += kCompareAtOnce) {
      const size_t count = std::min(kCompareAtOnce, kept.size() - first);
      dots(kept_rows.data() + first, static_cast<int64_t>(count), &row, 1, rows.format().dim, scores);
      for (size_t i = 0; i < count; ++i) {
        is_spread &= scores[i] * scale * rows.scale(kept[first + i].row) <= candidate.score;
      }
    }
    if (!is_spread) continue;
    kept.push_back(candidate);
    kept_rows.push_back(row);
  }
  return kept;
}

bool is_nearer(const Near& a, const Near& b) { return a.score > b.score || (a.score == b.score && a.row < b.row); }

}  // namespace

void HnswGraph::set_links(uint32_t node, int level, const std::vector<Near>& nearest) {
  const auto links = links_of(node, level);
  for (size_t i = 0; i < links.size(); ++i) store_link(links[i], i < nearest.size() ? nearest[i].row : kNone);
}

void HnswGraph::insert(uint32_t node, const VectorRows& rows, Dots dots) {
  const int level = level_of(node);
  for (int l = 0; l <= level; ++l) set_links(node, l, {});
  std::unique_lock entry_lock(entry_mutex_, std::defer_lock);
  uint64_t entry = entry_.load(std::memory_order_acquire);
  if (level >= levels_of(entry)) {
    entry_lock.lock();
    entry = entry_.load(std::memory_order_acquire);
  }
  if (entry == 0) return entry_.store(packed(level + 1, node), std::memory_order_release);
  Walk walk(*this, rows.at(node), rows.scale(node), rows, dots);
  Near nearest = walk.start(static_cast<uint32_t>(entry));
  const int top = levels_of(entry) - 1;
  for (int l = top; l > level; --l) nearest = walk.descend(nearest, l);
  std::vector<std::vector<Near>> chosen(static_cast<size_t>(std::min(level, top)) + 1);
  for (int l = std::min(level, top); l >= 0; --l) {
    std::vector<Near> found;
    for (const Candidate& each : walk.spread(nearest, l, static_cast<size_t>(options_.expansion_add))) {
      if (each.row != node) found.push_back({each.score, each.row});
    }
    if (l == 0 && hang_on_twin(node, found, rows)) return;
    chosen[static_cast<size_t>(l)] = spread_out(found, static_cast<size_t>(options_.connectivity), rows, dots);
    nearest = found.front();
  }
  // From the ground up: who meets the node on a level can go down from it.
  for (size_t l = 0; l < chosen.size(); ++l) {
    set_links(node, static_cast<int>(l), chosen[l]);
    for (const Near& each : chosen[l]) link_back(node, each, static_cast<int>(l), rows, dots);
  }
  if (level > top) entry_.store(packed(level + 1, node), std::memory_order_release);
}

bool HnswGraph::hang_on_twin(uint32_t node, const std::vector<Near>& nearest, const VectorRows& rows) {
  const size_t num_bytes = rows.format().bytes();
  const auto twin = std::find_if(nearest.begin(), nearest.end(), [&](const Near& each) {
    return std::memcmp(rows.at(each.row), rows.at(node), num_bytes) == 0;
  });
  if (twin == nearest.end()) return false;
  std::lock_guard lock(locks_[twin->row % kNumLocks]);
  store_link(twins_[node], load_link(twins_[twin->row]));
  store_link(twins_[twin->row], node + 1);
  return true;
}

// `neighbour` gets a link to `node`; a full list is chosen anew.
void HnswGraph::link_back(uint32_t node, const Near& neighbour, int level, const VectorRows& rows, Dots dots) {
  std::lock_guard lock(locks_[neighbour.row % kNumLocks]);
  const auto links = links_of(neighbour.row, level);
  const auto end = std::find(links.begin(), links.end(), kNone);
  if (end != links.end()) return store_link(*end, node);
  WalkScratch& own = walk_scratch();
  own.nodes.assign(links.begin(), links.end());
  score_nodes(rows.at(neighbour.row), rows.scale(neighbour.row), rows, dots, own.nodes, own);
  std::vector<Near> nearest = {{neighbour.score, node}};
  for (size_t i = 0; i < own.nodes.size(); ++i) nearest.push_back({own.scores[i], own.nodes[i]});
  std::sort(nearest.begin(), nearest.end(), is_nearer);
  set_links(neighbour.row, level, spread_out(nearest, links.size(), rows, dots));
}

std::vector<Near> HnswGraph::walk(const StoredQuery& query, const VectorRows& rows, Dots dots,
                                  int64_t expansion) const {
  std::vector<Near> found;
  const uint64_t entry = entry_.load(std::memory_order_acquire);
  if (entry == 0) return found;
  Walk walk(*this, query.data(), query.scale, rows, dots);
  Near nearest = walk.start(static_cast<uint32_t>(entry));
  for (int level = levels_of(entry) - 1; level > 0; --level) nearest = walk.descend(nearest, level);
  for (const Candidate& each : walk.spread(nearest, 0, static_cast<size_t>(expansion))) {
    found.push_back({each.score, each.row});
  }
  return found;
}

}  // namespace seekrl::search
