// A queue that its waiters work off.
#include "device/stream.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

namespace seekrl::emulator {

namespace {

// Most waits of the host come sooner.
constexpr std::chrono::milliseconds kSoon{2};

// Work may free memory, which submits. Never destroyed: the thread that goes on may outlive every static.
auto& mutex = *new std::recursive_mutex;
auto& queue = *new std::deque<Work>;
int64_t num_submitted = 0;
bool is_working = false;
std::exception_ptr kept_error;
std::shared_ptr<Recording> open_recording;

// Wakes the thread that goes on.
struct Driver {
  std::mutex mutex;
  std::condition_variable woken;
  bool is_due = false;

  void run() {
    for (;;) {
      {
        std::unique_lock lock(mutex);
        woken.wait(lock, [this] { return std::exchange(is_due, false); });
      }
      std::this_thread::sleep_for(kSoon);
      const std::lock_guard lock(emulator::mutex);
      if (open_recording != nullptr) continue;
      try {
        finish();
      } catch (...) {
        kept_error = std::current_exception();
      }
    }
  }
};

Driver& driver() {
  static Driver* const one = [] {
    auto* const made = new Driver;
    std::thread([made] { made->run(); }).detach();
    return made;
  }();
  return *one;
}

}  // namespace

void submit(Work work) {
  const std::lock_guard lock(mutex);
  if (is_working) return work();
  if (open_recording != nullptr) {
    open_recording->works.push_back(std::move(work));
    return;
  }
  ++num_submitted;
  queue.push_back(std::move(work));
}

int64_t last_ticket() {
  const std::lock_guard lock(mutex);
  return num_submitted;
}

void finish() { finish_until(last_ticket()); }

void finish_until(int64_t ticket) {
  const std::lock_guard lock(mutex);
  if (is_working) return;
  TORCH_CHECK(open_recording == nullptr, "emulated: something waits for the card while a graph is captured");
  std::exception_ptr error = std::exchange(kept_error, nullptr);
  while (!queue.empty() && num_submitted - static_cast<int64_t>(queue.size()) < ticket) {
    const Work work = std::move(queue.front());
    queue.pop_front();
    is_working = true;
    try {
      work();
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
    is_working = false;
  }
  if (error != nullptr) std::rethrow_exception(error);
}

void go_on() {
  Driver& one = driver();
  {
    const std::lock_guard lock(one.mutex);
    one.is_due = true;
  }
  one.woken.notify_one();
}

void note_wait(const std::string& what) {
  const char* const file = std::getenv("SEEKRL_EMULATED_WAITS");
  if (file != nullptr) std::ofstream(file, std::ios::app) << what << '\n';
}

void begin_recording(const std::shared_ptr<Recording>& recording) {
  const std::lock_guard lock(mutex);
  finish();
  open_recording = recording;
}

std::shared_ptr<Recording> end_recording() {
  const std::lock_guard lock(mutex);
  return std::exchange(open_recording, nullptr);
}

Recording* recording() {
  const std::lock_guard lock(mutex);
  return open_recording.get();
}

}  // namespace seekrl::emulator
