// A queue that its waiters work off.
#include "device/stream.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <utility>

namespace seekrl::emulator {

namespace {

// Work may free memory, which submits.
std::recursive_mutex mutex;
std::deque<Work> queue;
int64_t num_submitted = 0;
bool is_working = false;
std::shared_ptr<Recording> open_recording;

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
  std::exception_ptr error;
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
