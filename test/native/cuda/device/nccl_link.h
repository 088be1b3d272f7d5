// What the emulated GPU's NCCL runs over: memory that the processes of this machine share, a ring for each pair of
// ranks.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "comm/nccl/library.h"

namespace seekrl::emulator {

constexpr int kMaxRanks = 8;

struct Shared;

// Bytes to or from a rank.
struct Transfer {
  int peer;
  char* at;
  size_t left;
};

// One rank's end of a communicator.
struct Link {
  int rank, size;
  Shared* shared;
  std::atomic<bool> is_aborted{false};
  std::atomic<bool> has_failed{false};
  std::atomic<int> num_begun{0};
};

// Makes the memory by a name that no process has; false where the system refuses.
bool make_shared_memory(const std::string& name);
// Null where there is none by this name. The last rank to come takes the name away.
Shared* join_shared_memory(const std::string& name, int size);
bool has_all(const Link& link);

size_t size_of(comm::nccl::Dtype dtype);

// Until all have moved, or the communicator was aborted.
void move(Link& link, std::vector<Transfer> sends, std::vector<Transfer> receives);

// from: of each rank the numbers that go to it; to: `count` from all, summed in the order of ranks.
void reduce(Link& link, const std::vector<char*>& from, char* to, size_t count, comm::nccl::Dtype dtype);

}  // namespace seekrl::emulator
