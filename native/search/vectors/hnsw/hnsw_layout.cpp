// Where a graph's links stand, in memory and in a file.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "search/vectors/hnsw/hnsw_graph.h"

namespace seekrl::search {

namespace {

constexpr int kMaxLevel = 15;

}  // namespace

// What stands before the links in a file.
struct alignas(64) HnswGraph::Header {
  int64_t connectivity, expansion_add, expansion_search;
  uint64_t entry;
  int64_t num_lists;
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
  file.write_padded(ground_, num_nodes * 2 * list_bytes);
  file.write_padded(twins_, num_nodes * sizeof(uint32_t));
  file.write_padded(starts_, num_nodes * sizeof(uint32_t));
  file.write_padded(upper_, static_cast<size_t>(lists_before(count)) * list_bytes);
}

}  // namespace seekrl::search
