// The connections that c10d makes and does not show: which rank is at the other end, and how long it may be silent.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "comm/store.h"

namespace seekrl::comm {

class Connections {
 public:
  // What is open before is none of them.
  Connections();

  // Once all are open. The system ends one whose other end acknowledges nothing for `patience`: a machine that went
  // away says no more. Tells the store the addresses of this rank's ends.
  void hold(c10d::Store& store, const Place& place);

 private:
  std::set<std::pair<std::string, std::string>> others_;  // by the addresses of both ends
};

// The rank whose address an error of Gloo's names, as "rank 1"; empty where it names none.
std::string rank_in(const std::string& message, c10d::Store& store, const Place& place);

}  // namespace seekrl::comm
