// Stop strings, matched byte by byte while tokens arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seekrl::engine {

// The bytes of every token of the vocabulary, one after another; token t is [starts[t], starts[t + 1]).
struct TokenBytes {
  std::string bytes;
  std::vector<int64_t> starts;
  std::vector<int64_t> undrawn = {};  // rows of the head that are no token: ids that are never drawn

  std::string_view of(int64_t token) const;
};

// A set of strings compiled for matching (Knuth, Morris and Pratt); none of them is empty.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> strings);

  // How many leading bytes of string `index` match after `byte`, when `matched` of them did before.
  int32_t advance(size_t index, int32_t matched, char byte) const;
  size_t size() const { return strings_.size(); }
  int32_t length(size_t index) const { return static_cast<int32_t>(strings_[index].size()); }

 private:
  std::vector<std::string> strings_;
  std::vector<std::vector<int32_t>> borders_;  // [string][n]: longest proper border of its first n + 1 bytes
};

struct StopMatch {
  int32_t string_index;  // which stop string
  int32_t cut_bytes;     // bytes of the last token that come after the match
};

// How far a span has come in each stop string.
class StopMatcher {
 public:
  void reset(const StopStrings* strings);

  // The first stop string that completes inside these bytes; the longer one when two end at the same byte.
  std::optional<StopMatch> push(std::string_view bytes);

 private:
  const StopStrings* strings_ = nullptr;
  std::vector<int32_t> matched_;
};

}  // namespace seekrl::engine
