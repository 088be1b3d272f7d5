// The emulated GPU's memory: its size, read from the environment at each call so that a test can fill it, and what of
// it is used.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "emulator/launch.h"

namespace seekrl::emulator {

inline constexpr size_t kGpuBytes = size_t{1} << 30;
inline std::atomic<size_t> used_bytes{0}, peak_bytes{0};

inline size_t gpu_bytes() {
  const char* const given = std::getenv("SEEKRL_EMULATED_BYTES");
  return given == nullptr ? kGpuBytes : std::strtoull(given, nullptr, 10);
}

// The largest allocation that a graph's capture gets: its memory is apart, and can be short where the GPU's is not.
inline size_t graph_bytes() {
  const char* const given = std::getenv("SEEKRL_EMULATED_GRAPH_BYTES");
  return given == nullptr ? kGpuBytes : std::strtoull(given, nullptr, 10);
}

inline size_t free_bytes() {
  const size_t all = gpu_bytes(), used = used_bytes;
  return all > used ? all - used : 0;
}

// Null for no bytes. Memory comes filled with kPoison, a NaN in every format, and goes so, so that tests see what is
// read before it is written or after it is given back.
inline void* take_bytes(size_t num_bytes) {
  constexpr size_t kAlign = 512;  // as CUDA's
  const size_t size = (num_bytes + kAlign - 1) / kAlign * kAlign;
  if (size == 0) return nullptr;
  TORCH_CHECK_WITH(OutOfMemoryError, size <= free_bytes(), "emulated out of memory: tried to allocate ", num_bytes,
                   " bytes of ", free_bytes(), " that are free");
  void* const block = std::aligned_alloc(kAlign, size);
  std::memset(block, kPoison, size);
  used_bytes += malloc_usable_size(block);
  peak_bytes = std::max<size_t>(peak_bytes, used_bytes);
  return block;
}

inline void give_bytes(void* block) {
  const size_t size = malloc_usable_size(block);
  std::memset(block, kPoison, size);
  used_bytes -= size;
  std::free(block);
}

// What libtorch asks of a GPU's allocator beside memory.
class CountedAllocator : public c10::DeviceAllocator {
 public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t = {0, 0}) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = static_cast<int64_t>(used_bytes);
    stats.allocated_bytes[0].peak = static_cast<int64_t>(peak_bytes);
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { peak_bytes = used_bytes.load(); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override { return {free_bytes(), gpu_bytes()}; }
};

}  // namespace seekrl::emulator
