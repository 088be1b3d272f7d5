// Freed when the stream comes to it, as libtorch's allocators see to it that memory in use is not given to others.
#include "device/memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "device/counted.h"
#include "device/graphs.h"
#include "device/stream.h"
#include "emulator/launch.h"

namespace seekrl::emulator {

namespace {

void free_in_order(void* block) {
  if (block != nullptr) submit([block] { give_bytes(block); });
}

void keep(void*) {}

class DeviceMemory final : public CountedAllocator {
 public:
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
