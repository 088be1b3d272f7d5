// How a process joins its group and leaves it, and what it asks the store meanwhile: all of it may wait for a machine
// that never answers, so it runs on threads that are left behind then.
#include <c10/util/Logging.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>

#include "base/error.h"
#include "comm/process_group_parts.h"

namespace seekrl::comm {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How long the store may take for its last answers beyond the time that all have to come.
constexpr milliseconds kLast{5000};

// Runs a call on a thread of its own; `look` is called while it runs, and may throw: then the thread is left behind.
template <class Call, class Look>
auto apart(Call call, Look look) {
  std::packaged_task<decltype(call())()> task(std::move(call));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  while (result.wait_for(kLook) != std::future_status::ready) look();
  return result.get();
}

c10::intrusive_ptr<c10d::Backend> open_gloo(const StorePointer& store, const Place& place, const std::string& line) {
  // Longer than anybody waits: the watch tells who is gone.
  const auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::hours(24 * 365));
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(own_address(place)));
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(line, store);
  return c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, place.rank, place.size, options);
}

// ERR_ABORTED soon after it was cancelled, ERR_REMOTE when the store falls silent, besides what `meet` throws.
StorePointer meet_apart(const Place& place, const std::atomic<bool>& is_cancelled) {
  const auto given_up = std::make_shared<std::atomic<bool>>(false);
  const auto deadline = steady_clock::now() + place.arrival + kLast;
  return apart([place, given_up] { return meet(place, *given_up); },
               [&] {
                 if (!is_cancelled && steady_clock::now() < deadline) return;
                 // A meeting that is heard ends by itself, and leaves the store in order.
                 const bool is_told = given_up->exchange(true);
                 require(!is_told || !is_cancelled, ErrorCode::kAborted,
                         "process group: closed before all ranks had come");
                 require(!is_told, ErrorCode::kRemote, place.name_of(place.rank), ": the job's store at ",
                         place.address, ":", place.port, " has fallen silent");
               });
}

}  // namespace

void ProcessGroup::Parts::connect() {
  tensors = open_gloo(store, place, "tensors");
  messages = open_gloo(store, place, "messages");
  connections.hold(*store, place);
}

int64_t ProcessGroup::Parts::add(const std::string& key, int64_t number) const {
  return apart([asked = store, key, number] { return asked->add(key, number); },
               [this] {
                 if (const auto failure = watch->failure()) fail(ErrorCode::kRemote, *failure);
               });
}

ProcessGroup::ProcessGroup(const Place& place, const std::atomic<bool>& is_cancelled) : place_(place) {
  if (place.size == 1) return;
  FLAGS_caffe2_log_level = 3;  // c10d prints what it also throws
  auto parts = std::make_shared<Parts>();
  parts->place = place;
  parts->store = meet_apart(place, is_cancelled);
  parts->watch = std::make_shared<Watch>(place);
  const auto fail_to_connect = [&](const std::string& why) {
    fail(ErrorCode::kRemote, place.name_of(place.rank), ": connecting the ranks: ", why);
  };
  try {
    apart([parts] { parts->connect(); },
          [&] {
            if (const auto failure = parts->watch->failure()) fail_to_connect(*failure);
            if (is_cancelled) parts->watch->cancel(place.name_of(place.rank) + " has left before all were connected");
          });
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_to_connect(parts->cause(error));
  }
  parts_ = std::move(parts);
}

ProcessGroup::~ProcessGroup() {
  if (parts_ == nullptr || has_left_) return;
  cancel();
  // Threads of a job that failed may wait for machines that never answer: they are left behind.
  static_cast<void>(new std::shared_ptr<Parts>(std::move(parts_)));
}

int64_t ProcessGroup::count(const std::string& name) {
  if (parts_ == nullptr) return counts_[name]++;
  if (const std::string why = failure(); !why.empty()) fail(ErrorCode::kRemote, name, ": ", why);
  try {
    return parts_->add("count/" + name, 1) - 1;
  } catch (const Error& error) {
    fail(error.code(), name, ": ", error.what());
  } catch (const std::exception& error) {
    fail(ErrorCode::kRemote, name, ": ", parts_->cause(error));
  }
}

void ProcessGroup::report(const std::string& message) {
  if (parts_ != nullptr) parts_->watch->report(place_.name_of(place_.rank) + ": " + message);
}

std::string ProcessGroup::failure() const { return parts_ == nullptr ? "" : parts_->watch->failure().value_or(""); }

void ProcessGroup::cancel() {
  if (parts_ == nullptr || has_left_) return;
  parts_->watch->cancel(place_.name_of(place_.rank) + " has closed its group before the others");
}

// Until so many have come to a point. ERR_REMOTE when one has failed.
void ProcessGroup::await_at(const char* point, int64_t number) const {
  for (milliseconds rest = kSoon; parts_->add(point, 0) < number; rest = std::min(2 * rest, kLook)) {
    if (const std::string why = failure(); !why.empty()) fail(ErrorCode::kRemote, why);
    std::this_thread::sleep_for(rest);
  }
}

void ProcessGroup::leave() {
  if (parts_ == nullptr || has_left_) return;
  try {
    if (const std::string why = failure(); !why.empty()) fail(ErrorCode::kRemote, why);
    // What a rank has sent is with the others before its connections end, and all know it before the store ends.
    parts_->add("left", 1);
    await_at("left", place_.size);
    parts_->add("gone", place_.serves_store ? 0 : 1);
    if (place_.serves_store) await_at("gone", place_.size - 1);
    has_left_ = true;
    parts_->watch->leave();
  } catch (const Error&) {
    if (place_.serves_store) std::this_thread::sleep_for(kTold);
  } catch (const c10::Error&) {
    return;  // rank 0 is gone, and with it the store
  }
}

}  // namespace seekrl::comm
