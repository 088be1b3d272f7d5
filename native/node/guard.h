// The three shapes of an export: guard (synchronous), post (a task on a queue), stream (see mailbox.h).
#pragma once

#include <napi.h>

#include <exception>
#include <type_traits>
#include <utility>

#include "base/task_queue.h"
#include "node/mailbox.h"

namespace seekrl::node {

// The JavaScript error for whatever was thrown, of the class that setErrorClass named: `code` set, message kept.
Napi::Error to_js_error(Napi::Env env, std::exception_ptr error);

// Runs `body` and turns any C++ exception into a JavaScript one.
template <class Body>
auto guard(Napi::Env env, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw to_js_error(env, std::current_exception());
  }
}

// Runs `work` on the queue; the promise resolves to `to_js(env, result)`, or to undefined for a void `work`.
// Everything `work` needs must be copied into it or held by shared_ptr.
template <class Work, class ToJs>
Napi::Value post(Napi::Env env, TaskQueue& queue, Work work, ToJs to_js) {
  Deferred deferred(env);
  queue.post([deferred, work = std::move(work), to_js = std::move(to_js)]() mutable {
    try {
      auto result = std::make_shared<std::invoke_result_t<Work>>(work());
      deferred.resolve([result, to_js](Napi::Env js) -> Napi::Value { return to_js(js, *result); });
    } catch (...) {
      deferred.reject(std::current_exception());
    }
  });
  return deferred.promise();
}

template <class Work>
Napi::Value post(Napi::Env env, TaskQueue& queue, Work work) {
  return post(
      env, queue,
      [work = std::move(work)]() mutable {
        work();
        return true;
      },
      [](Napi::Env js, bool) -> Napi::Value { return js.Undefined(); });
}

// All torch work, in posted order, on one thread: grad mode and CUDA streams are thread-local.
TaskQueue& device_queue();
// Vector and lexical search, on all cores of this process.
TaskQueue& search_queue();
// Encoders, on all cores of this process, beside the device queue and the searches.
TaskQueue& encode_queue();

// The queues have threads while an environment lives; called once per environment at load.
void run_queues_for(Napi::Env env);

}  // namespace seekrl::node
