// NCCL's C interface for the emulated card: between processes of this machine, over memory that they share. Environment
// variables plant faults.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/nccl/library.h"
#include "device/stream.h"

namespace seekrl::emulator {

namespace {

using comm::nccl::Config;
using comm::nccl::Dtype;
using comm::nccl::Reduction;
using comm::nccl::Result;
using comm::nccl::UniqueId;

constexpr int kMaxRanks = 8;
constexpr size_t kRing = size_t{1} << 16;
constexpr auto kFailedCall = static_cast<Result>(1);

// Bytes on their way from one rank to another.
struct Channel {
  std::atomic<uint64_t> written, read;
  char bytes[kRing];
};

struct Shared {
  std::atomic<int> num_present;
  Channel channels[kMaxRanks][kMaxRanks];
};

struct Transfer {
  int peer;
  char* at;
  size_t left;
};

struct Link {
  int rank, size;
  std::string name;
  Shared* shared;
  std::atomic<bool> is_aborted{false};
  std::atomic<int> num_done{0};
};

// What the test wants to go wrong: "call", "later" or "init".
bool is_planted(const char* fault) {
  const char* const given = std::getenv("SEEKRL_EMULATED_NCCL_FAULT");
  return given != nullptr && std::string(given) == fault;
}

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

// Until all have moved, or the communicator was aborted.
void move(Link& link, std::vector<Transfer> sends, std::vector<Transfer> receives) {
  for (;;) {
    size_t moved = 0, left = 0;
    for (Transfer& each : sends) moved += push(link.shared->channels[link.rank][each.peer], each), left += each.left;
    for (Transfer& each : receives) moved += pull(link.shared->channels[each.peer][link.rank], each), left += each.left;
    if (left == 0 || link.is_aborted) return;
    if (moved == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

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

// from: of each rank the bytes that go to it; to: `size` bytes from all, summed in the order of ranks.
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

// A group's transfers wait for its end.
thread_local bool is_grouped = false;
thread_local std::vector<Transfer> grouped_sends, grouped_receives;
thread_local std::shared_ptr<Link> grouped_link;

}  // namespace

}  // namespace seekrl::emulator

namespace seekrl::comm::nccl {

struct Communicator {
  std::shared_ptr<emulator::Link> link;
};

}  // namespace seekrl::comm::nccl

namespace seekrl::emulator {

namespace {

using comm::nccl::Communicator;

template <class Work>
Result queued(Communicator* communicator, Work work) {
  if (is_planted("call")) return kFailedCall;
  submit([link = communicator->link, work] {
    if (!link->is_aborted) work(*link);
    ++link->num_done;
  });
  return Result::kSuccess;
}

char* bytes(const void* x) { return const_cast<char*>(static_cast<const char*>(x)); }

}  // namespace

}  // namespace seekrl::emulator

// NOLINTBEGIN: the names are NCCL's
using namespace seekrl::emulator;  // the interface below is C's

extern "C" {
#define EXPORT __attribute__((visibility("default")))

EXPORT Result ncclGetVersion(int* version) {
  *version = 23007;
  return Result::kSuccess;
}

EXPORT const char* ncclGetErrorString(Result result) {
  return result == Result::kRemoteError ? "remote process exited or there was a network error" : "unhandled cuda error";
}

EXPORT Result ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> num_made{0};
  std::snprintf(id->bytes, sizeof(id->bytes), "/seekrl-nccl-%d-%d", getpid(), num_made++);
  return shared_memory(id->bytes, O_CREAT | O_EXCL) == nullptr ? kFailedCall : Result::kSuccess;
}

EXPORT Result ncclCommInitRankConfig(Communicator** communicator, int size, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || is_planted("init")) return kFailedCall;
  Shared* const shared = size <= kMaxRanks ? shared_memory(id.bytes, 0) : nullptr;
  if (shared == nullptr) return kFailedCall;
  auto link = std::make_shared<Link>();
  link->rank = rank;
  link->size = size;
  link->name = id.bytes;
  link->shared = shared;
  if (++shared->num_present == size) shm_unlink(id.bytes);
  *communicator = new Communicator{std::move(link)};
  return Result::kInProgress;
}

EXPORT Result ncclCommGetAsyncError(Communicator* communicator, Result* error) {
  const Link& link = *communicator->link;
  const bool is_open = link.shared->num_present == link.size;
  *error = is_open ? Result::kSuccess : Result::kInProgress;
  if (link.num_done > 0 && is_planted("later")) *error = Result::kRemoteError;
  return Result::kSuccess;
}

EXPORT Result ncclCommAbort(Communicator* communicator) {
  communicator->link->is_aborted = true;
  delete communicator;
  return Result::kSuccess;
}

EXPORT Result ncclAllReduce(const void* from, void* to, size_t count, Dtype dtype, Reduction,
                            Communicator* communicator, void*) {
  return queued(communicator,
                [=](Link& link) { reduce(link, std::vector<char*>(link.size, bytes(from)), bytes(to), count, dtype); });
}

EXPORT Result ncclReduceScatter(const void* from, void* to, size_t count, Dtype dtype, Reduction,
                                Communicator* communicator, void*) {
  return queued(communicator, [=](Link& link) {
    std::vector<char*> parts;
    for (int rank = 0; rank < link.size; ++rank) parts.push_back(bytes(from) + rank * count * size_of(dtype));
    reduce(link, parts, bytes(to), count, dtype);
  });
}

EXPORT Result ncclAllGather(const void* from, void* to, size_t count, Dtype dtype, Communicator* communicator, void*) {
  return queued(communicator, [=](Link& link) {
    const size_t size = count * size_of(dtype);
    std::vector<Transfer> sends, receives;
    for (int rank = 0; rank < link.size; ++rank) {
      char* const place = bytes(to) + rank * size;
      if (rank == link.rank) {
        std::memmove(place, from, size);
        continue;
      }
      sends.push_back({rank, bytes(from), size});
      receives.push_back({rank, place, size});
    }
    move(link, sends, receives);
  });
}

EXPORT Result ncclBroadcast(const void* from, void* to, size_t count, Dtype dtype, int root, Communicator* communicator,
                            void*) {
  return queued(communicator, [=](Link& link) {
    const size_t size = count * size_of(dtype);
    if (link.rank != root) return move(link, {}, {{root, bytes(to), size}});
    std::vector<Transfer> sends;
    for (int rank = 0; rank < link.size; ++rank) {
      if (rank != root) sends.push_back({rank, bytes(from), size});
    }
    move(link, sends, {});
  });
}

EXPORT Result ncclGroupStart() {
  is_grouped = true;
  return Result::kSuccess;
}

EXPORT Result ncclSend(const void* from, size_t count, Dtype dtype, int peer, Communicator* communicator, void*) {
  if (!is_grouped) return kFailedCall;
  grouped_link = communicator->link;
  grouped_sends.push_back({peer, bytes(from), count * size_of(dtype)});
  return Result::kSuccess;
}

EXPORT Result ncclRecv(void* to, size_t count, Dtype dtype, int peer, Communicator* communicator, void*) {
  if (!is_grouped) return kFailedCall;
  grouped_link = communicator->link;
  grouped_receives.push_back({peer, bytes(to), count * size_of(dtype)});
  return Result::kSuccess;
}

EXPORT Result ncclGroupEnd() {
  is_grouped = false;
  Communicator communicator{std::move(grouped_link)};
  return queued(&communicator,
                [sends = std::exchange(grouped_sends, {}), receives = std::exchange(grouped_receives, {})](Link& link) {
                  move(link, sends, receives);
                });
}
}
// NOLINTEND
