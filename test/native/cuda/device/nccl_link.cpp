// Rings of bytes, and sums of what comes through them.
#include "device/nccl_link.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

namespace seekrl::emulator {

namespace {

using comm::nccl::Dtype;

constexpr size_t kRing = size_t{1} << 16;

// Bytes on their way from one rank to another.
struct Channel {
  std::atomic<uint64_t> written, read;
  char bytes[kRing];
};

}  // namespace

struct Shared {
  std::atomic<int> num_present;
  Channel channels[kMaxRanks][kMaxRanks];
};

namespace {

Shared* shared_memory(const std::string& name, int flags) {
  const int file = shm_open(name.c_str(), O_RDWR | flags, 0600);
  if (file < 0) return nullptr;
  const bool is_sized = flags == 0 || ftruncate(file, sizeof(Shared)) == 0;
  void* const memory =
      is_sized ? mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Shared*>(memory);
}

size_t push(Channel& channel, Transfer& from) {
  const uint64_t written = channel.written, room = kRing - (written - channel.read);
  const size_t at = written % kRing, count = std::min({from.left, static_cast<size_t>(room), kRing - at});
  std::memcpy(channel.bytes + at, from.at, count);
  from.at += count;
  from.left -= count;
  channel.written = written + count;
  return count;
}

size_t pull(Channel& channel, Transfer& to) {
  const uint64_t read = channel.read, there = channel.written - read;
  const size_t at = read % kRing, count = std::min({to.left, static_cast<size_t>(there), kRing - at});
  std::memcpy(to.at, channel.bytes + at, count);
  to.at += count;
  to.left -= count;
  channel.read = read + count;
  return count;
}

template <class Value, class Sum = Value>
void add(char* to, const char* from, size_t count) {
  auto* const sums = reinterpret_cast<Value*>(to);
  const auto* const values = reinterpret_cast<const Value*>(from);
  for (size_t i = 0; i < count; ++i)
    sums[i] = static_cast<Value>(static_cast<Sum>(sums[i]) + static_cast<Sum>(values[i]));
}

void add(Dtype dtype, char* to, const char* from, size_t count) {
  switch (dtype) {
    case Dtype::kInt8: return add<int8_t>(to, from, count);
    case Dtype::kUint8: return add<uint8_t>(to, from, count);
    case Dtype::kInt32: return add<int32_t>(to, from, count);
    case Dtype::kInt64: return add<int64_t>(to, from, count);
    case Dtype::kHalf: return add<c10::Half, float>(to, from, count);
    case Dtype::kBFloat16: return add<c10::BFloat16, float>(to, from, count);
    case Dtype::kFloat: return add<float>(to, from, count);
    case Dtype::kDouble: return add<double>(to, from, count);
  }
}

}  // namespace

bool make_shared_memory(const std::string& name) { return shared_memory(name, O_CREAT | O_EXCL) != nullptr; }

Shared* join_shared_memory(const std::string& name, int size) {
  Shared* const shared = size <= kMaxRanks ? shared_memory(name, 0) : nullptr;
  if (shared != nullptr && ++shared->num_present == size) shm_unlink(name.c_str());
  return shared;
}

bool has_all(const Link& link) { return link.shared->num_present == link.size; }

size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt8:
    case Dtype::kUint8: return 1;
    case Dtype::kHalf:
    case Dtype::kBFloat16: return 2;
    case Dtype::kInt32:
    case Dtype::kFloat: return 4;
    default: return 8;
  }
}

void move(Link& link, std::vector<Transfer> sends, std::vector<Transfer> receives) {
  for (;;) {
    size_t moved = 0, left = 0;
    for (Transfer& each : sends) moved += push(link.shared->channels[link.rank][each.peer], each), left += each.left;
    for (Transfer& each : receives) moved += pull(link.shared->channels[each.peer][link.rank], each), left += each.left;
    if (left == 0 || link.is_aborted) return;
    if (moved == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void reduce(Link& link, const std::vector<char*>& from, char* to, size_t count, Dtype dtype) {
  const size_t size = count * size_of(dtype);
  std::vector<std::vector<char>> parts(link.size, std::vector<char>(size));
  std::vector<Transfer> sends, receives;
  for (int rank = 0; rank < link.size; ++rank) {
    if (rank == link.rank) {
      std::memcpy(parts[rank].data(), from[rank], size);
      continue;
    }
    sends.push_back({rank, from[rank], size});
    receives.push_back({rank, parts[rank].data(), size});
  }
  move(link, sends, receives);
  for (int rank = 1; rank < link.size; ++rank) add(dtype, parts[0].data(), parts[rank].data(), count);
  std::memcpy(to, parts[0].data(), size);
}

}  // namespace seekrl::emulator
