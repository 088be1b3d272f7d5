// Hashes of all ids are sorted; only ids whose hash repeats are compared as text.
#include "search/passages/repeated_ids.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "search/checksum.h"

namespace seekrl::search {

namespace {

template <class Use>
void for_each_id(const std::vector<LivePassages>& parts, Use use) {
  for (const auto& [store, removed] : parts) {
    auto skipped = removed.begin();
    for (int64_t i = 0; i < store->count(); ++i) {
      if (skipped != removed.end() && *skipped == i) {
        ++skipped;
        continue;
      }
      use(store->id(i));
    }
  }
}

std::vector<uint64_t> repeated_hashes(const std::vector<LivePassages>& parts) {
  std::vector<uint64_t> hashes;
  size_t num_passages = 0;
  for (const auto& part : parts) num_passages += static_cast<size_t>(part.store->count()) - part.removed.size();
  hashes.reserve(num_passages);
  for_each_id(parts, [&](std::string_view id) { hashes.push_back(hash_string(id)); });
  std::sort(hashes.begin(), hashes.end());
  std::vector<uint64_t> repeated;
  for (size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i] == hashes[i - 1] && (repeated.empty() || repeated.back() != hashes[i])) repeated.push_back(hashes[i]);
  }
  return repeated;
}

}  // namespace

std::vector<std::string> repeated_ids(const std::vector<LivePassages>& parts, size_t limit) {
  std::vector<std::string> found;
  const auto hashes = repeated_hashes(parts);
  if (hashes.empty()) return found;
  std::unordered_map<std::string_view, int> counts;
  for_each_id(parts, [&](std::string_view id) {
    if (found.size() == limit || !std::binary_search(hashes.begin(), hashes.end(), hash_string(id))) return;
    if (++counts[id] == 2) found.emplace_back(id);
  });
  return found;
}

}  // namespace seekrl::search
