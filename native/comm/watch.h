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

  // As `failure`, after it was given as long as it takes to notice a rank that is gone.
  std::optional<std::string> awaited_failure() const;

  // This rank has come to a collective; one that does not, while others wait for it, has stalled.
  void note(const char* what);

  // This rank needs the others no longer, and they need not hear of it.
  void leave();

  // Nobody in this process waits any more. The others are told why, in a moment, unless something else has failed.
  void cancel(const std::string& message);

  // Tells all ranks that this one cannot go on, and waits a moment until it is written; the first to say so is named.
  void report(const std::string& message);

 private:
  struct State;
  // Until what there is to report was written, or a moment has passed.
  void send_report(std::unique_lock<std::mutex>& lock, const std::string& message);
  static void run(const std::shared_ptr<State>& state);

  // The thread may hang in a read from a machine that is gone: then it is left behind with what it holds.
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace seekrl::comm
