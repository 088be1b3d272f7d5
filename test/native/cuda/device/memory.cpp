// The emulated GPU's memory: its size, read from the environment at each call so that a test can fill it, and what of
// it is used. Freed when the stream comes to it, as libtorch's allocators see to it that memory in use is not given to
// others.
#include "device/memory.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "device/graphs.h"
#include "device/stream.h"
#include "emulator/launch.h"

namespace seekrl::emulator {

namespace {

std::atomic<size_t> used_bytes{0}, peak_bytes{0};

// A GiB, unless a variable says more or less.
size_t bytes_of(const char* variable) {
  const char* const given = std::getenv(variable);
  return given == nullptr ? size_t{1} << 30 : std::strtoull(given, nullptr, 10);
}

size_t gpu_bytes() { return bytes_of("SEEKRL_EMULATED_BYTES"); }

// The largest allocation that a graph's capture gets: its memory is apart, and can be short where the GPU's is not.
size_t graph_bytes() { return bytes_of("SEEKRL_EMULATED_GRAPH_BYTES"); }

size_t free_bytes() {
  const size_t all = gpu_bytes(), used = used_bytes;
  return all > used ? all - used : 0;
}

// Null for no bytes. Memory comes filled with kPoison, a NaN in every format, and goes so, so that tests see what is
// read before it is written or after it is given back.
void* take_bytes(size_t num_bytes) {
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

void give_bytes(void* block) {
  const size_t size = malloc_usable_size(block);
  std::memset(block, kPoison, size);
  used_bytes -= size;
  std::free(block);
}

void free_in_order(void* block) {
  if (block != nullptr) submit([block] { give_bytes(block); });
}

void keep(void*) {}

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  bool initialized() override { return true; }
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
  // What is about to be freed is free to who comes after it in the stream.
  c10::DataPtr allocate(size_t num_bytes) override {
    KeptMemory* const pool = pool_of(native_stream(current_stream));
    if (num_bytes > free_bytes() && pool == nullptr) finish();
    TORCH_CHECK_WITH(OutOfMemoryError, pool == nullptr || num_bytes <= graph_bytes(),
                     "emulated out of memory: a graph takes ", num_bytes, " bytes");
    void* const block = take_bytes(num_bytes);
    if (pool != nullptr) pool->emplace_back(block, &free_in_order);
    return {block, block, pool == nullptr ? &free_in_order : &keep, c10::Device(kType, 0)};
  }
  void emptyCache(c10::MempoolId_t = {0, 0}) override {
    if (recording() == nullptr) finish();
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_in_order; }
  void copy_data(void* to, const void* from, size_t count) const override {
    submit([=] { std::memcpy(to, from, count); });
  }
};

std::mutex mutex;
std::map<const std::byte*, size_t> pinned_blocks;

// libtorch keeps what is pinned until the copies from it are done: so does the stream's order.
void free_pinned(void* block) {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex);
  pinned_blocks.erase(static_cast<std::byte*>(block));
  submit([block] { std::free(block); });
}

class PinnedMemory final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t num_bytes) override {
    void* const block = std::malloc(num_bytes);
    if (block != nullptr) std::memset(block, kPoison, num_bytes);
    const std::lock_guard lock(mutex);
    if (block != nullptr) pinned_blocks.emplace(static_cast<std::byte*>(block), num_bytes);
    return {block, block, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* to, const void* from, size_t count) const override { std::memcpy(to, from, count); }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
};

}  // namespace

c10::Allocator& device_memory() {
  static DeviceMemory memory;
  return memory;
}

at::HostAllocator& pinned_memory() {
  static PinnedMemory memory;
  return memory;
}

bool is_pinned(const void* pointer) {
  const auto* const at = static_cast<const std::byte*>(pointer);
  const std::lock_guard lock(mutex);
  const auto after = pinned_blocks.upper_bound(at);
  if (after == pinned_blocks.begin()) return false;
  const auto& [block, size] = *std::prev(after);
  return at < block + size;
}

}  // namespace seekrl::emulator
