// One process of a job: where it stands, and where all of them meet.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace seekrl::comm {

struct Place {
  int rank = 0, size = 1;
  std::string address;  // host that serves the store, as the other ranks reach it
  int port = 0;
  bool serves_store = false;              // one process does; rank 0, unless a launcher did before it
  std::string job;                        // of keys in the store: a restarted job must not meet the one before
  std::chrono::milliseconds arrival{0};   // how long all have to come
  std::chrono::milliseconds patience{0};  // how long one may be silent before it counts as dead
  std::chrono::milliseconds stall = std::chrono::hours(1);  // how long others may wait for one that is not
  std::string version = {};                                 // of the program, which all ranks have alike
  std::vector<int> numbers = {};  // of the ranks in the job of which they are some; empty where they are all

  // What people know a rank by.
  std::string name_of(int number) const {
    return "rank " + std::to_string(numbers.empty() ? number : numbers[static_cast<size_t>(number)]);
  }
};

}  // namespace seekrl::comm
