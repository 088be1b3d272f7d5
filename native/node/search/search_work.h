// What the three searches share: handles that JavaScript passes back, work split over the search queue, hits.
#pragma once

#include <napi.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "node/guard.h"
#include "node/values.h"
#include "search/blob.h"

namespace seekrl::node {

// What JavaScript holds of a native object: a share that `close` gives up; tasks hold their own.
template <class T>
Napi::Value wrap(Napi::Env env, std::shared_ptr<T> object) {
  return Napi::External<std::shared_ptr<T>>::New(env, new std::shared_ptr<T>(std::move(object)),
                                                 [](Napi::Env, std::shared_ptr<T>* share) { delete share; });
}

template <class T>
std::shared_ptr<T>& share_of(const Napi::Value& value) {
  require(value.IsExternal(), ErrorCode::kArgument, "index: expected a native handle");
  return *value.As<Napi::External<std::shared_ptr<T>>>().Data();
}

template <class T>
std::shared_ptr<T> held(const Napi::Value& value) {
  auto object = share_of<T>(value);
  require(object != nullptr, ErrorCode::kState, "the index is closed");
  return object;
}

template <class T>
Napi::Value close_handle(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    share_of<T>(info[0]).reset();
    return info.Env().Undefined();
  });
}

// Runs work(begin, end) over [0, count) in tasks of `per_task`; settles after the last, with the first error if any.
template <class Work>
Napi::Value post_ranges(Napi::Env env, int64_t count, int64_t per_task, Work work, Deferred::ToJs to_js) {
  struct State {
    Deferred deferred;
    Work work;
    Deferred::ToJs to_js;
    std::atomic<int64_t> num_left;
    std::mutex mutex;
    std::exception_ptr error;
  };
  const int64_t num_tasks = std::max<int64_t>(1, (count + per_task - 1) / per_task);
  std::shared_ptr<State> state(new State{Deferred(env), std::move(work), std::move(to_js), {num_tasks}, {}, nullptr});
  for (int64_t task = 0; task < num_tasks; ++task) {
    search_queue().post([state, begin = task * per_task, end = std::min(count, (task + 1) * per_task)] {
      try {
        state->work(begin, end);
      } catch (...) {
        std::lock_guard lock(state->mutex);
        if (state->error == nullptr) state->error = std::current_exception();
      }
      if (state->num_left.fetch_sub(1) > 1) return;
      if (state->error != nullptr) return state->deferred.reject(state->error);
      state->deferred.resolve(state->to_js);
    });
  }
  return state->deferred.promise();
}

inline Napi::Value nothing(Napi::Env env) { return env.Undefined(); }

// How an index file is opened: `true` reads and checks every byte, `false` trusts all but the header.
search::Verify to_verify(const Napi::Value& value);

// ERR_RANGE unless 1 <= top_k <= count, the number of entries of an index; an empty one may be asked for one.
void check_top_k(int64_t top_k, int64_t count);

// {ids, scores} as JavaScript sees them.
Napi::Value hits_to_js(Napi::Env env, const std::vector<int32_t>& ids_QK, const std::vector<float>& scores_QK);

// Ids and scores of Q queries, K each.
struct Found {
  // top_k is checked.
  Found(int64_t num_queries, int64_t top_k, int64_t count);
  Napi::Value to_js(Napi::Env env) const;

  std::vector<int32_t> ids_QK;
  std::vector<float> scores_QK;
};

}  // namespace seekrl::node
