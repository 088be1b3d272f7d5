// Who is still there: every rank writes a heartbeat into the store, rank 0 looks at all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/store.h"

namespace seekrl::comm {

// Lives on a thread and a connection of its own, so that nothing that waits for others keeps it from being heard.
class Watch {
 public:
  explicit Watch(const Place& place);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Why the job cannot go on, which names a rank; nothing while it can. Once there, it stays.
  std::optional<std::string> failure() const;

  // Nobody in this process waits any more.
  void cancel();

  // How long somebody may be silent.
  std::chrono::milliseconds patience() const;

  // Tells all ranks that this one cannot go on, and waits a moment until it is written; the first to say so is named.
  void report(const std::string& message);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  // The thread may hang in a read from a machine that is gone: then it is left behind with what it holds.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace seekrl::comm
