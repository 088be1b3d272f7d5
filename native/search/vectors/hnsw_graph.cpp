// Inserting and walking. Candidates live in one list sorted by score, which is short enough to insert by moving.
#include "search/vectors/hnsw_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace seekrl::search {

namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr int kMaxLevel = 15;
constexpr size_t kNumLocks = 4096;
// Candidates are compared with this many chosen neighbours before the next look at whether one was nearer.
constexpr size_t kCompareAtOnce = 8;
// Bytes of a row that are fetched ahead; the processor goes on by itself.
constexpr size_t kMaxPrefetched = 1024;

size_t padded(size_t num_bytes) { return (num_bytes + 63) / 64 * 64; }

uint32_t load(uint32_t& link) { return std::atomic_ref(link).load(std::memory_order_acquire); }
void store(uint32_t& link, uint32_t node) { std::atomic_ref(link).store(node, std::memory_order_release); }

uint64_t packed(int num_levels, uint32_t node) { return static_cast<uint64_t>(num_levels) << 32 | node; }
int levels_of(uint64_t entry) { return static_cast<int>(entry >> 32); }

// The nodes a walk has met: open addressing, a few times larger than what is in it.
class Visited {
 public:
  void clear(size_t expected) {
    const size_t num_slots = std::bit_ceil(std::max<size_t>(64, 2 * expected));
    slots_.assign(num_slots, kNone);
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
  uint32_t& find(uint32_t node) {
    const size_t mask = slots_.size() - 1;
    size_t at = (node * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (slots_[at] != kNone && slots_[at] != node) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<uint32_t> old(slots_.size() * 2, kNone);
    old.swap(slots_);
    for (const uint32_t node : old) {
      if (node != kNone) find(node) = node;
    }
  }

  std::vector<uint32_t> slots_;
  size_t count_ = 0;
};

// A row of the list of candidates; `is_open` until its links have been followed.
struct Candidate {
  float score;
  uint32_t row : 31;
  uint32_t is_open : 1;
};

struct Scratch {
  Visited visited;
  std::vector<Candidate> candidates;
  std::vector<uint32_t> nodes;
  std::vector<const std::byte*> rows;
  std::vector<float> scores;
};

Scratch& scratch() {
  thread_local Scratch own;
  return own;
}

// Scores of `nodes` against one stored vector, in scratch().scores.
void score_nodes(const std::byte* query, float scale, const VectorRows& rows, Dots dots,
                 const std::vector<uint32_t>& nodes, Scratch& own) {
  own.rows.clear();
  for (const uint32_t node : nodes) own.rows.push_back(rows.at(node));
  own.scores.resize(nodes.size());
  dots(own.rows.data(), static_cast<int64_t>(nodes.size()), &query, 1, rows.format().dim, own.scores.data());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const float score = own.scores[i] * scale * rows.scale(nodes[i]);
    own.scores[i] = std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;  // keeps sorting sane
  }
}

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

// What stands before the links in a file.
struct alignas(64) HnswGraph::Header {
  int64_t connectivity, expansion_add, expansion_search;
  uint64_t entry;
  int64_t num_lists;
};

// One query on its way through the levels.
class HnswGraph::Walk {
 public:
  Walk(const HnswGraph& graph, const std::byte* query, float scale, const VectorRows& rows, Dots dots)
      : graph_(graph), query_(query), scale_(scale), rows_(rows), dots_(dots), own_(scratch()) {}

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
      const uint32_t linked = load(link);
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
  Scratch& own_;
  const size_t num_prefetched_ = std::min(rows_.format().bytes(), kMaxPrefetched);
};

HnswGraph::HnswGraph(const HnswOptions& options, int64_t capacity) : options_(options), locks_(kNumLocks) {
  require(options.connectivity >= 2 && options.connectivity <= 512, ErrorCode::kRange,
          "connectivity: expected 2 to 512, got ", options.connectivity);
  for (const int64_t expansion : {options.expansion_add, options.expansion_search}) {
    require(expansion >= 1 && expansion <= 1 << 16, ErrorCode::kRange, "expansion: expected 1 to 65536, got ",
            expansion);
  }
  lay_out(capacity);
}

HnswGraph::HnswGraph(const std::byte* section, size_t num_bytes, int64_t count) : num_nodes_(count) {
  const auto check = [](bool holds) { require(holds, ErrorCode::kFormat, "the graph does not fit its rows"); };
  check(num_bytes >= sizeof(Header));
  Header header;
  std::memcpy(&header, section, sizeof(header));
  options_ = {header.connectivity, header.expansion_add, header.expansion_search};
  num_lists_ = header.num_lists;
  check(options_.connectivity >= 2 && options_.connectivity <= 512 && options_.expansion_search >= 1);
  check(num_lists_ >= 0 && num_lists_ <= kMaxLevel * count && num_bytes >= section_bytes(count));
  check(count == 0 ? header.entry == 0
                   : static_cast<uint32_t>(header.entry) < count && levels_of(header.entry) >= 1 &&
                         levels_of(header.entry) <= kMaxLevel + 1);
  entry_ = header.entry;
  const auto num_nodes = static_cast<size_t>(count), width = static_cast<size_t>(options_.connectivity);
  auto* links = const_cast<std::byte*>(section) + sizeof(header);
  ground_ = reinterpret_cast<uint32_t*>(links);
  twins_ = reinterpret_cast<uint32_t*>(links += padded(num_nodes * 2 * width * sizeof(uint32_t)));
  starts_ = reinterpret_cast<uint32_t*>(links += padded(num_nodes * sizeof(uint32_t)));
  upper_ = reinterpret_cast<uint32_t*>(links + padded(num_nodes * sizeof(uint32_t)));
}

HnswGraph::HnswGraph(const HnswGraph& other, int64_t count, int64_t capacity) : HnswGraph(other.options_, capacity) {
  const auto num_nodes = static_cast<size_t>(count), width = static_cast<size_t>(options_.connectivity);
  require(std::equal(other.starts_, other.starts_ + count, starts_), ErrorCode::kFormat,
          "the graph's levels are not those of its rows");
  std::copy_n(other.ground_, num_nodes * 2 * width, ground_);
  std::copy_n(other.twins_, num_nodes, twins_);
  std::copy_n(other.upper_, static_cast<size_t>(other.lists_before(count)) * width, upper_);
  entry_ = other.entry_.load();
}

// 1 / connectivity of a level's nodes stand on the next.
int HnswGraph::level_of(uint32_t node) const {
  const uint64_t hash = mix(node + 0x9e3779b97f4a7c15u);
  const auto width = static_cast<uint64_t>(options_.connectivity);
  int level = 0;
  for (uint64_t limit = UINT64_MAX / width; hash < limit && level < kMaxLevel; limit /= width) ++level;
  return level;
}

void HnswGraph::lay_out(int64_t capacity) {
  num_nodes_ = capacity;
  owned_starts_.resize(static_cast<size_t>(capacity));
  for (int64_t node = 0; node < capacity; ++node) {
    owned_starts_[static_cast<size_t>(node)] = static_cast<uint32_t>(num_lists_);
    num_lists_ += level_of(static_cast<uint32_t>(node));
  }
  const size_t list_bytes = static_cast<size_t>(options_.connectivity) * sizeof(uint32_t);
  owned_ground_ = Pages(static_cast<size_t>(capacity) * 2 * list_bytes);
  owned_upper_ = Pages(static_cast<size_t>(num_lists_) * list_bytes);
  owned_twins_ = Pages(static_cast<size_t>(capacity) * sizeof(uint32_t));
  ground_ = reinterpret_cast<uint32_t*>(owned_ground_.data());
  twins_ = reinterpret_cast<uint32_t*>(owned_twins_.data());
  upper_ = reinterpret_cast<uint32_t*>(owned_upper_.data());
  starts_ = owned_starts_.data();
}

std::span<uint32_t> HnswGraph::links_of(uint32_t node, int level) const {
  const int64_t width = options_.connectivity;
  if (level == 0) return {ground_ + node * 2 * width, static_cast<size_t>(2 * width)};
  const int64_t list = static_cast<int64_t>(starts_[node]) + level - 1;
  if (list >= num_lists_) return {};
  return {upper_ + list * width, static_cast<size_t>(width)};
}

void HnswGraph::set_links(uint32_t node, int level, const std::vector<Near>& nearest) {
  const auto links = links_of(node, level);
  for (size_t i = 0; i < links.size(); ++i) store(links[i], i < nearest.size() ? nearest[i].row : kNone);
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
  store(twins_[node], load(twins_[twin->row]));
  store(twins_[twin->row], node + 1);
  return true;
}

// `neighbour` gets a link to `node`; a full list is chosen anew.
void HnswGraph::link_back(uint32_t node, const Near& neighbour, int level, const VectorRows& rows, Dots dots) {
  std::lock_guard lock(locks_[neighbour.row % kNumLocks]);
  const auto links = links_of(neighbour.row, level);
  const auto end = std::find(links.begin(), links.end(), kNone);
  if (end != links.end()) return store(*end, node);
  Scratch& own = scratch();
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

int64_t HnswGraph::lists_before(int64_t node) const { return node < num_nodes_ ? starts_[node] : num_lists_; }

size_t HnswGraph::section_bytes(int64_t count) const {
  const auto num_nodes = static_cast<size_t>(count), width = static_cast<size_t>(options_.connectivity);
  return sizeof(Header) + padded(num_nodes * 2 * width * sizeof(uint32_t)) + 2 * padded(num_nodes * sizeof(uint32_t)) +
         padded(static_cast<size_t>(lists_before(count)) * width * sizeof(uint32_t));
}

void HnswGraph::write(BlobWriter& file, int64_t count) const {
  Header header;
  std::memset(static_cast<void*>(&header), 0, sizeof(header));
  header.connectivity = options_.connectivity;
  header.expansion_add = options_.expansion_add;
  header.expansion_search = options_.expansion_search;
  header.entry = entry_;
  header.num_lists = lists_before(count);
  file.write(&header, sizeof(header));
  const auto num_nodes = static_cast<size_t>(count);
  const size_t list_bytes = static_cast<size_t>(options_.connectivity) * sizeof(uint32_t);
  const auto write_padded = [&](const void* data, size_t num_bytes) {
    const std::byte zeros[64] = {};
    file.write(data, num_bytes);
    file.write(zeros, padded(num_bytes) - num_bytes);
  };
  write_padded(ground_, num_nodes * 2 * list_bytes);
  write_padded(twins_, num_nodes * sizeof(uint32_t));
  write_padded(starts_, num_nodes * sizeof(uint32_t));
  write_padded(upper_, static_cast<size_t>(lists_before(count)) * list_bytes);
}

}  // namespace seekrl::search
