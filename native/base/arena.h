// Large blocks of memory that are taken and given back by the thousand: kept between uses, so that the system does not
// clear the same pages again and again, and joined with their neighbours, so that sizes may differ each time.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace seekrl {

class Arena {
 public:
  // Reserves addresses, no memory; nothing can be allocated where the system refuses.
  explicit Arena(size_t num_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The lowest place that has room, aligned to kAlignment; null when there is none. From any thread, as is `free`.
  void* allocate(size_t num_bytes);
  void free(void* block);
  bool holds(const void* address) const;

  // Gives the memory of free blocks back to the system, unless less than `least` bytes have been in use.
  void release(size_t least = 0);

  static constexpr size_t kAlignment = 4096;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t touched_ = 0;  // bytes from the beginning that were in use since the last release
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  // offset -> bytes; no two touch
  std::map<size_t, size_t> used_;
};

}  // namespace seekrl
