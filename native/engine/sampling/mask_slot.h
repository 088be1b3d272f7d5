// Where the masks of a constrained span arrive while the forward runs.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace seekrl::engine {

// One mask at a time, that of the token to be drawn next: whoever puts it has seen all tokens before.
class MaskSlot {
 public:
  explicit MaskSlot(int64_t num_words) : num_words_(num_words) {}

  // Any thread. mask: bit v % 32 of word v / 32 says whether token v is allowed.
  void put(std::vector<int32_t> mask) {
    require(std::ssize(mask) == num_words_, ErrorCode::kShape, "mask: expected i32 [", num_words_, "], got i32 [",
            mask.size(), "]");
    const std::lock_guard lock(mutex_);
    mask_ = std::move(mask);
  }

  int64_t num_words() const { return num_words_; }

  bool is_ready() const {
    const std::lock_guard lock(mutex_);
    return !mask_.empty();
  }

  // Empty when there is none.
  std::vector<int32_t> mask() const {
    const std::lock_guard lock(mutex_);
    return mask_;
  }
  // Its token is drawn.
  void clear() {
    const std::lock_guard lock(mutex_);
    mask_.clear();
  }

 private:
  int64_t num_words_;
  mutable std::mutex mutex_;
  std::vector<int32_t> mask_;
};

}  // namespace seekrl::engine
