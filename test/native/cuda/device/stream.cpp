// A queue that its waiters work off.
#include "device/stream.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

namespace seekrl::emulator {

namespace {

// Most waits of the host come sooner.
constexpr std::chrono::milliseconds kSoon{2};

// Who works the queue off holds `working`; `mutex` is held for a moment only, so that nobody who submits waits for work
// that waits for another rank. Never destroyed: the thread that goes on may outlive every static.
auto& working = *new std::mutex;
auto& mutex = *new std::mutex;
auto& queue = *new std::deque<Work>;
int64_t num_submitted = 0;
std::exception_ptr kept_error;
std::shared_ptr<Recording> open_recording;

// Within a work: it may free memory, which submits.
thread_local bool is_working = false;

bool is_recording() {
  const std::lock_guard lock(mutex);
  return open_recording != nullptr;
}

// The next work up to a ticket; none when all of them are done.
Work next_until(int64_t ticket) {
  const std::lock_guard lock(mutex);
  if (queue.empty() || num_submitted - static_cast<int64_t>(queue.size()) >= ticket) return nullptr;
  Work work = std::move(queue.front());
  queue.pop_front();
  return work;
}

// Does all work up to a ticket, by a caller that holds `working`; the first error of it, or one that was kept.
std::exception_ptr work_off(int64_t ticket) {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex);
    error = std::exchange(kept_error, nullptr);
  }
  while (const Work work = next_until(ticket)) {
    is_working = true;
    try {
      work();
    } catch (...) {
      if (error == nullptr) error = std::current_exception();
    }
    is_working = false;
  }
  return error;
}

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
      const std::lock_guard work(working);
      if (is_recording()) continue;
      const auto error = work_off(last_ticket());
      const std::lock_guard lock(emulator::mutex);
      kept_error = error;
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

bool is_planted(const char* variable, const std::string& fault) {
  const char* const given = std::getenv(variable);
  return given != nullptr && given == fault;
}

void submit(Work work) {
  if (is_working) return work();
  const std::lock_guard lock(mutex);
  if (open_recording != nullptr) {
    open_recording->is_invalid |= is_planted(kGraphFault, "launch");
    TORCH_CHECK(!open_recording->is_invalid, "emulated: an operation that no capture permits");
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
  if (is_working) return;
  const std::lock_guard work(working);
  TORCH_CHECK(!is_recording(), "emulated: something waits for the GPU while a graph is captured");
  if (const auto error = work_off(ticket)) std::rethrow_exception(error);
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
  const std::lock_guard work(working);
  if (const auto error = work_off(last_ticket())) std::rethrow_exception(error);
  const std::lock_guard lock(mutex);
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
