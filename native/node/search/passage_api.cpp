// Passages for JavaScript: written by one task at a time, read as three strings each (id, title, text).
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>

#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "search/passages/passage_store.h"

namespace seekrl::node {

namespace {

using search::PassageStore;
using search::PassageView;
using search::PassageWriter;

constexpr int64_t kPassagesPerTask = 4096;

// id, title, text, id, title, text, ...
void put_strings(Napi::Env env, Napi::Array& list, uint32_t at, const PassageView& passage) {
  for (const auto part : {passage.id, passage.title, passage.text}) {
    list[at++] = Napi::String::New(env, part.data(), part.size());
  }
}

Napi::Value passage_writer_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), std::make_shared<PassageWriter>(to_text(info[0], "path"))); });
}

// The caller waits for each batch before the next: passages are numbered in the order of the calls.
Napi::Value passage_writer_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto fields = to_texts(info[1], "passages");
    require(fields.size() % 3 == 0, ErrorCode::kShape, "passages: expected 3 strings each, got ", fields.size());
    return post(info.Env(), search_queue(), [writer = held<PassageWriter>(info[0]), fields = std::move(fields)] {
      for (size_t i = 0; i < fields.size(); i += 3) {
        writer->add({fields[i], fields[i + 1], fields[i + 2]});
      }
    });
  });
}

Napi::Value passage_writer_finish(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(), [writer = held<PassageWriter>(info[0])] { writer->finish(); });
  });
}

Napi::Value passage_store_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [path = to_text(info[0], "path"), verify = to_verify(info[1])] {
          return std::make_shared<PassageStore>(path, verify);
        },
        [](Napi::Env env, const std::shared_ptr<PassageStore>& store) { return wrap(env, store); });
  });
}

Napi::Value passage_store_count(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return Napi::Number::New(info.Env(), static_cast<double>(held<PassageStore>(info[0])->count()));
  });
}

Napi::Value passage_store_get(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto list = Napi::Array::New(info.Env(), 3);
    put_strings(info.Env(), list, 0, held<PassageStore>(info[0])->at(to_integer(info[1], "passage")));
    return list;
  });
}

// Passages are copied on the search queue, so that a page which must come from the disk does not hold up JavaScript.
Napi::Value passage_store_get_many(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [store = held<PassageStore>(info[0]), indices = to_ids(info[1], "passages")] {
          std::vector<std::string> fields;
          fields.reserve(3 * indices.size());
          for (const int64_t index : indices) {
            const auto passage = store->at(index);
            for (const auto part : {passage.id, passage.title, passage.text}) fields.emplace_back(part);
          }
          return fields;
        },
        [](Napi::Env env, const std::vector<std::string>& fields) {
          auto list = Napi::Array::New(env, fields.size());
          for (uint32_t i = 0; i < fields.size(); ++i) list[i] = Napi::String::New(env, fields[i]);
          return list;
        });
  });
}

// The lowest number of a passage with each id, -1 where there is none: one pass over the ids.
Napi::Value passage_store_find(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto store = held<PassageStore>(info[0]);
    auto ids = std::make_shared<std::vector<std::string>>(to_texts(info[1], "ids"));
    auto numbers = std::make_shared<std::unordered_map<std::string_view, std::atomic<int32_t>>>();
    for (const auto& id : *ids) (*numbers)[id] = std::numeric_limits<int32_t>::max();
    return post_ranges(
        info.Env(), store->count(), kPassagesPerTask,
        [store, ids, numbers](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto found = numbers->find(store->id(i));
            if (found == numbers->end()) continue;
            const auto number = static_cast<int32_t>(i);
            int32_t lowest = found->second.load();
            while (number < lowest && !found->second.compare_exchange_weak(lowest, number)) {
            }
          }
        },
        [ids, numbers](Napi::Env env) {
          std::vector<int32_t> found(ids->size());
          std::transform(ids->begin(), ids->end(), found.begin(), [&](const std::string& id) {
            const int32_t number = numbers->at(id).load();
            return number == std::numeric_limits<int32_t>::max() ? -1 : number;
          });
          return to_typed_array<Napi::Int32Array>(env, found);
        });
  });
}

}  // namespace

void export_passages(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("passageWriterCreate", passage_writer_create);
  add("passageWriterAdd", passage_writer_add);
  add("passageWriterFinish", passage_writer_finish);
  add("passageWriterClose", close_handle<PassageWriter>);
  add("passageStoreOpen", passage_store_open);
  add("passageStoreCount", passage_store_count);
  add("passageStoreGet", passage_store_get);
  add("passageStoreGetMany", passage_store_get_many);
  add("passageStoreFind", passage_store_find);
  add("passageStoreClose", close_handle<PassageStore>);
}

}  // namespace seekrl::node
