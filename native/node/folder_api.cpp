// What index folders need beside their indexes: a lock, and a look for ids that repeat.
#include "base/file_lock.h"
#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "search/passages/repeated_ids.h"

namespace seekrl::node {

namespace {

Napi::Value file_lock_take(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), std::make_shared<FileLock>(to_text(info[0], "path"))); });
}

// (stores, the numbers of the passages to leave out of each, how many ids at most)
Napi::Value repeated_passage_ids(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const auto stores = to_object(info[0], "stores").As<Napi::Array>();
    const auto removed = to_object(info[1], "removed").As<Napi::Array>();
    std::vector<search::LivePassages> parts;
    for (uint32_t i = 0; i < stores.Length(); ++i) {
      parts.push_back({held<search::PassageStore>(stores.Get(i)), to_ids(removed.Get(i), "removed")});
    }
    return post(
        info.Env(), search_queue(),
        [parts = std::move(parts), limit = to_integer(info[2], "limit")] {
          return search::repeated_ids(parts, static_cast<size_t>(limit));
        },
        [](Napi::Env env, const std::vector<std::string>& ids) {
          auto list = Napi::Array::New(env, ids.size());
          for (uint32_t i = 0; i < ids.size(); ++i) list[i] = Napi::String::New(env, ids[i]);
          return list;
        });
  });
}

}  // namespace

void export_folders(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("fileLockTake", file_lock_take);
  add("fileLockClose", close_handle<FileLock>);
  add("repeatedPassageIds", repeated_passage_ids);
}

}  // namespace seekrl::node
