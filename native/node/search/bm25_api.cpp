// BM25 for JavaScript: built by one task at a time, searched by one task a query.
#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "search/words/bm25_builder.h"
#include "search/words/bm25_search.h"

namespace seekrl::node {

namespace {

using search::Bm25Builder;
using search::Bm25Index;
using search::Bm25Search;
using search::CutTexts;

Napi::Value bm25_builder_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const search::Bm25Options options = {to_number(info[0], "k1"), to_number(info[1], "b")};
    auto scratch = to_text(info[2], "scratch");
    return wrap(info.Env(),
                std::make_shared<Bm25Builder>(options, std::move(scratch), to_integer(info[3], "maxBytes")));
  });
}

// The caller waits for each batch before the next: passages are numbered in the order of the calls.
Napi::Value bm25_builder_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(), [builder = held<Bm25Builder>(info[0]), passages = held<CutTexts>(info[1])] {
      for (int64_t i = 0; i < passages->count(); ++i) builder->add(passages->meanings(i));
    });
  });
}

Napi::Value bm25_builder_save(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [builder = held<Bm25Builder>(info[0]), path = to_text(info[1], "path")] { builder->save(path); });
  });
}

Napi::Value bm25_index_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [path = to_text(info[0], "path"), verify = to_verify(info[1])] {
          return std::make_shared<Bm25Search>(Bm25Search::Indexes{std::make_shared<Bm25Index>(path, verify)});
        },
        [](Napi::Env env, const std::shared_ptr<Bm25Search>& index) { return wrap(env, index); });
  });
}

Napi::Value bm25_index_join(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    require(info[0].IsArray(), ErrorCode::kArgument, "indexes: expected a list");
    const auto list = info[0].As<Napi::Array>();
    Bm25Search::Indexes indexes;
    for (uint32_t i = 0; i < list.Length(); ++i) {
      const auto own = held<Bm25Search>(list.Get(i))->indexes();
      indexes.insert(indexes.end(), own.begin(), own.end());
    }
    return wrap(info.Env(), std::make_shared<Bm25Search>(indexes, to_ids(info[1], "excluded")));
  });
}

Napi::Value bm25_index_search(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<Bm25Search>(info[0]);
    auto queries = held<CutTexts>(info[1]);
    const int64_t top_k = to_integer(info[2], "topK");
    const int64_t num_queries = queries->count();
    auto found = std::make_shared<Found>(num_queries, top_k, index->count());
    return post_ranges(
        info.Env(), num_queries, 1,
        [index, queries, found, top_k](int64_t begin, int64_t end) {
          for (int64_t q = begin; q < end; ++q) {
            index->search(queries->meanings(q), top_k, found->ids_QK.data() + q * top_k,
                          found->scores_QK.data() + q * top_k);
          }
        },
        [found](Napi::Env env) { return found->to_js(env); });
  });
}

Napi::Value bm25_index_count(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return Napi::Number::New(info.Env(), static_cast<double>(held<Bm25Search>(info[0])->count())); });
}

}  // namespace

void export_bm25(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("bm25BuilderCreate", bm25_builder_create);
  add("bm25BuilderAdd", bm25_builder_add);
  add("bm25BuilderSave", bm25_builder_save);
  add("bm25BuilderClose", close_handle<Bm25Builder>);
  add("bm25IndexOpen", bm25_index_open);
  add("bm25IndexJoin", bm25_index_join);
  add("bm25IndexSearch", bm25_index_search);
  add("bm25IndexCount", bm25_index_count);
  add("bm25IndexClose", close_handle<Bm25Search>);
}

}  // namespace seekrl::node
