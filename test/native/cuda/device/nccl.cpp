// NCCL's C interface for the emulated GPU. SEEKRL_EMULATED_NCCL_FAULT plants a fault: "init" or "call" for a call that
// fails, or the number of the collective, from 0, in the middle of which this rank's connections break.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/nccl/library.h"
#include "device/nccl_link.h"
#include "device/stream.h"

namespace seekrl::emulator {

namespace {

using comm::nccl::Config;
using comm::nccl::Dtype;
using comm::nccl::Reduction;
using comm::nccl::Result;
using comm::nccl::UniqueId;

constexpr auto kFailedCall = static_cast<Result>(1);

bool has_fault(const std::string& fault) { return is_planted("SEEKRL_EMULATED_NCCL_FAULT", fault); }

// As NCCL's kernels: nothing but an abort ends what waits for a connection that broke.
void break_in(Link& link) {
  link.has_failed = true;
  while (!link.is_aborted) std::this_thread::sleep_for(std::chrono::microseconds(50));
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
  if (has_fault("call")) return kFailedCall;
  submit([link = communicator->link, work] {
    if (has_fault(std::to_string(link->num_begun++))) break_in(*link);
    if (!link->is_aborted) work(*link);
  });
  go_on();
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
  return make_shared_memory(id->bytes) ? Result::kSuccess : kFailedCall;
}

EXPORT Result ncclCommInitRankConfig(Communicator** communicator, int size, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || has_fault("init")) return kFailedCall;
  Shared* const shared = join_shared_memory(id.bytes, size);
  if (shared == nullptr) return kFailedCall;
  auto link = std::make_shared<Link>();
  link->rank = rank;
  link->size = size;
  link->shared = shared;
  *communicator = new Communicator{std::move(link)};
  return Result::kInProgress;
}

EXPORT Result ncclCommGetAsyncError(Communicator* communicator, Result* error) {
  const Link& link = *communicator->link;
  *error = link.has_failed ? Result::kRemoteError : has_all(link) ? Result::kSuccess : Result::kInProgress;
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
