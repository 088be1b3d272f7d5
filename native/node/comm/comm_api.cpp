// Every call that waits for other ranks is a task on a thread of the group's own.
#include "node/comm/comm_api.h"

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/task_queue.h"
#include "node/guard.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

using comm::ProcessGroup;

// A group and the thread of its messages. That of a group that was not left may wait for a machine which never answers,
// or be the one that lets go of it: it is left behind.
struct OpenGroup {
  std::shared_ptr<ProcessGroup> group;
  std::unique_ptr<TaskQueue> messages = std::make_unique<TaskQueue>(1);
  std::shared_ptr<std::atomic<bool>> is_cancelled = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> has_left{false};
  std::thread::id leaving;  // the thread of the messages, once the group is left

  void cancel() {
    *is_cancelled = true;
    if (group != nullptr) group->cancel();
  }

  ~OpenGroup() {
    if (has_left && !*is_cancelled && leaving != std::this_thread::get_id()) return;
    cancel();
    static_cast<void>(messages.release());
  }
};

comm::Place to_place(const Napi::Value& value) {
  const Napi::Object object = to_object(value, "place");
  comm::Place place;
  place.rank = static_cast<int>(integer_of(object, "rank"));
  place.size = static_cast<int>(integer_of(object, "size"));
  place.address = text_of(object, "address");
  place.port = static_cast<int>(integer_of(object, "port"));
  place.serves_store = bool_of(object, "servesStore");
  place.job = text_of(object, "job");
  place.arrival = std::chrono::milliseconds(integer_of(object, "arrivalMs"));
  place.patience = std::chrono::milliseconds(integer_of(object, "patienceMs"));
  place.stall = std::chrono::milliseconds(integer_of(object, "stallMs"));
  place.version = text_of(object, "version");
  for (const int64_t number : to_ids(object.Get("numbers"), "numbers"))
    place.numbers.push_back(static_cast<int>(number));
  return place;
}

ProcessGroup::Message to_message(const Napi::Value& value) {
  const std::string bytes = to_bytes(value, "message");
  return {bytes.begin(), bytes.end()};
}

Napi::Value to_js(Napi::Env env, const ProcessGroup::Message& message) {
  return to_typed_array<Napi::Uint8Array>(env, message);
}

Napi::Value to_list(Napi::Env env, const std::vector<ProcessGroup::Message>& messages) {
  auto list = Napi::Array::New(env, messages.size());
  for (uint32_t i = 0; i < messages.size(); ++i) list[i] = to_js(env, messages[i]);
  return list;
}

class ProcessGroupHandle : public Napi::ObjectWrap<ProcessGroupHandle> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(
        env, "ProcessGroupHandle",
        {InstanceMethod("open", &ProcessGroupHandle::open), InstanceMethod("exchange", &ProcessGroupHandle::exchange),
         InstanceMethod("broadcast", &ProcessGroupHandle::broadcast),
         InstanceMethod("gather", &ProcessGroupHandle::gather), InstanceMethod("count", &ProcessGroupHandle::count),
         InstanceMethod("report", &ProcessGroupHandle::report), InstanceMethod("cancel", &ProcessGroupHandle::cancel),
         InstanceMethod("close", &ProcessGroupHandle::close)});
  }

  explicit ProcessGroupHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ProcessGroupHandle>(info) {}

  std::shared_ptr<ProcessGroup> group() const { return open_group()->group; }

 private:
  std::shared_ptr<OpenGroup> open_group() const {
    require(open_ != nullptr && open_->group != nullptr, ErrorCode::kState, "process group: closed");
    return open_;
  }

  // open(place): resolves once all ranks have come
  Napi::Value open(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      open_ = std::make_shared<OpenGroup>();
      open_->messages->start();
      // Waits that nobody will end must not keep the environment from going.
      info.Env().AddCleanupHook([weak = std::weak_ptr<OpenGroup>(open_)] {
        if (const auto open = weak.lock()) open->cancel();
      });
      return post(
          info.Env(), *open_->messages,
          [place = to_place(info[0]), is_cancelled = open_->is_cancelled] {
            return std::make_shared<ProcessGroup>(place, *is_cancelled);
          },
          [open = open_](Napi::Env env, const std::shared_ptr<ProcessGroup>& group) -> Napi::Value {
            open->group = group;
            return env.Undefined();
          });
    });
  }

  // exchange(message, what): one message of each rank
  Napi::Value exchange(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      const auto open = open_group();
      return post(
          info.Env(), *open->messages,
          [group = open->group, message = to_message(info[0]), what = to_text(info[1], "what")] {
            return group->exchange(message, what.c_str());
          },
          to_list);
    });
  }

  // gather(message, root, what): one message of each rank on the root; empty ones of others elsewhere
  Napi::Value gather(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      const auto open = open_group();
      return post(
          info.Env(), *open->messages,
          [group = open->group, message = to_message(info[0]), root = to_integer(info[1], "root"),
           what = to_text(info[2], "what")] { return group->gather(message, static_cast<int>(root), what.c_str()); },
          to_list);
    });
  }

  // broadcast(message, root, what)
  Napi::Value broadcast(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      const auto open = open_group();
      return post(
          info.Env(), *open->messages,
          [group = open->group, message = to_message(info[0]), root = to_integer(info[1], "root"),
           what = to_text(info[2], "what")] { return group->broadcast(message, static_cast<int>(root), what.c_str()); },
          [](Napi::Env env, const ProcessGroup::Message& message) -> Napi::Value { return to_js(env, message); });
    });
  }

  // count(name)
  Napi::Value count(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      const auto open = open_group();
      return post(
          info.Env(), *open->messages,
          [group = open->group, name = to_text(info[0], "name")] { return group->count(name); },
          [](Napi::Env env, int64_t before) -> Napi::Value {
            return Napi::Number::New(env, static_cast<double>(before));
          });
    });
  }

  // report(message)
  Napi::Value report(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      open_group()->group->report(to_text(info[0], "message"));
      return info.Env().Undefined();
    });
  }

  // cancel(): ends what it waits for, opening too
  Napi::Value cancel(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      if (open_ != nullptr) open_->cancel();
      return info.Env().Undefined();
    });
  }

  // close(): resolves once this rank may go
  Napi::Value close(const Napi::CallbackInfo& info) {
    return guard(info.Env(), [&] {
      const auto open = open_group();
      open_ = nullptr;
      return post(
          info.Env(), *open->messages,
          [open] {
            open->leaving = std::this_thread::get_id();
            open->group->leave();
            return open->group->failure().empty();
          },
          [open](Napi::Env env, bool has_left) -> Napi::Value {
            open->has_left = has_left;
            return env.Undefined();
          });
    });
  }

  std::shared_ptr<OpenGroup> open_;
};

}  // namespace

std::shared_ptr<ProcessGroup> process_group_of(const Napi::Value& value) {
  if (value.IsUndefined()) return nullptr;
  return ProcessGroupHandle::Unwrap(to_object(value, "processGroup"))->group();
}

void export_comm(Napi::Env env, Napi::Object exports) {
  exports["ProcessGroupHandle"] = ProcessGroupHandle::define(env);
}

}  // namespace seekrl::node
