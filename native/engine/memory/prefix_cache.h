// Full blocks by the tokens they hold and those before them, so that a sequence which begins like another takes its
// keys and values instead of making them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace seekrl::engine {

// A prefix has a name, which no other ever has; it is found by the name of the prefix before its last block and that
// block's tokens, compared one by one. What is found therefore holds exactly the tokens looked for.
class PrefixCache {
 public:
  using Name = int64_t;
  // Before the first block. Below it are names for what else may stand there, an adapter that keys and values were made
  // with.
  static constexpr Name kNothing = 0;

  struct Prefix {
    Name name;
    int32_t block;  // that holds its last tokens
  };

  PrefixCache(int64_t num_blocks, int64_t block_tokens) : block_tokens_(block_tokens), held_(num_blocks, nullptr) {}

  // So many blocks, which hold nothing. Names go on.
  void reset(int64_t num_blocks);

  // The prefix that goes on from `before` with a block's tokens.
  std::optional<Prefix> find(Name before, const int64_t* tokens) const;
  // Names it, held by `block` unless another block holds it already.
  Name add(Name before, const int64_t* tokens, int32_t block);
  bool holds(int32_t block) const { return held_[block] != nullptr; }
  // The block's prefix and all that go on from it are not found any more.
  void remove(int32_t block);
  void clear() { reset(std::ssize(held_)); }

 private:
  using Key = std::vector<int64_t>;  // the name before, and the tokens
  struct Hash {
    size_t operator()(const Key& key) const;
  };

  Key key_of(Name before, const int64_t* tokens) const;

  int64_t block_tokens_;
  Name last_name_ = kNothing;
  std::unordered_map<Key, Prefix, Hash> prefixes_;
  std::vector<const Key*> held_;  // what each block holds, null for nothing
};

}  // namespace seekrl::engine
