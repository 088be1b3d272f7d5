// A hash table of blocks, each known by its tokens and the name of what stands before it.
#include "engine/memory/prefix_cache.h"

namespace seekrl::engine {

// SplitMix64's finaliser over a running sum (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
size_t PrefixCache::Hash::operator()(const Key& key) const {
  uint64_t hash = 0;
  for (const int64_t value : key) {
    hash += static_cast<uint64_t>(value) + 0x9e3779b97f4a7c15;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  return static_cast<size_t>(hash);
}

PrefixCache::Key PrefixCache::key_of(Name before, const int64_t* tokens) const {
  Key key = {before};
  key.insert(key.end(), tokens, tokens + block_tokens_);
  return key;
}

std::optional<PrefixCache::Prefix> PrefixCache::find(Name before, const int64_t* tokens) const {
  const auto found = prefixes_.find(key_of(before, tokens));
  if (found == prefixes_.end()) return std::nullopt;
  return found->second;
}

PrefixCache::Name PrefixCache::add(Name before, const int64_t* tokens, int32_t block) {
  const auto [entry, is_new] = prefixes_.try_emplace(key_of(before, tokens), Prefix{last_name_ + 1, block});
  if (is_new) {
    ++last_name_;
    held_[block] = &entry->first;
  }
  return entry->second.name;
}

void PrefixCache::remove(int32_t block) {
  if (held_[block] == nullptr) return;
  prefixes_.erase(prefixes_.find(*held_[block]));
  held_[block] = nullptr;
}

void PrefixCache::reset(int64_t num_blocks) {
  prefixes_.clear();
  held_.assign(num_blocks, nullptr);
}

}  // namespace seekrl::engine
