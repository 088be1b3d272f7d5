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
      for (int64_t i = 0; i < passages->count(); ++i) builder->add(passages->meanings(i), passages->num_title(i));
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

// {counts, frequencies}: how many different terms each query has, and in how many passages each of them stands.
Napi::Value bm25_index_frequencies(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<Bm25Search>(info[0]);
    auto queries = held<CutTexts>(info[1]);
    auto found = std::make_shared<std::vector<std::vector<double>>>(queries->count());
    return post_ranges(
        info.Env(), queries->count(), 16,
        [index, queries, found](int64_t begin, int64_t end) {
          for (int64_t q = begin; q < end; ++q) (*found)[q] = index->frequencies(queries->meanings(q));
        },
        [found](Napi::Env env) {
          std::vector<int32_t> counts;
          std::vector<double> all;
          for (const auto& own : *found) {
            counts.push_back(static_cast<int32_t>(own.size()));
            all.insert(all.end(), own.begin(), own.end());
          }
          auto object = Napi::Object::New(env);
          object["counts"] = to_typed_array<Napi::Int32Array>(env, counts);
          object["frequencies"] = to_typed_array<Napi::Float64Array>(env, all);
          return object;
        });
  });
}

// Impacts are computed for each pair of a corpus: some milliseconds for millions of passages.
Napi::Value bm25_index_within(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const search::Bm25Whole whole = {to_integer(info[1], "numPassages"), to_integer(info[2], "numTerms")};
    return post(
        info.Env(), search_queue(), [index = held<Bm25Search>(info[0]), whole] { return index->within(whole); },
        [](Napi::Env env, const std::shared_ptr<Bm25Search>& part) { return wrap(env, part); });
  });
}

// Frequencies of the whole, one query's after the other's, `counts` of them each.
struct Frequencies {
  std::vector<std::vector<double>> by_query;

  Frequencies(const std::vector<int64_t>& counts, const std::vector<double>& all, int64_t num_queries) {
    require(static_cast<int64_t>(counts.size()) == num_queries, ErrorCode::kArgument, "counts: expected ", num_queries,
            ", one for each query, got ", counts.size());
    auto next = all.begin();
    for (const int64_t count : counts) {
      require(count >= 0 && count <= all.end() - next, ErrorCode::kArgument,
              "frequencies: expected as many as the counts say, got ", all.size());
      by_query.emplace_back(next, next + count);
      next += count;
    }
  }
};

Napi::Value bm25_index_search_part(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<Bm25Search>(info[0]);
    auto queries = held<CutTexts>(info[1]);
    const int64_t top_k = to_integer(info[2], "topK");
    const int64_t num_queries = queries->count();
    auto whole =
        std::make_shared<Frequencies>(to_ids(info[3], "counts"), to_doubles(info[4], "frequencies"), num_queries);
    check_top_k(top_k, index->count());
    auto ids = std::make_shared<std::vector<int32_t>>(num_queries * top_k, -1);
    auto scores = std::make_shared<std::vector<double>>(num_queries * top_k);
    return post_ranges(
        info.Env(), num_queries, 1,
        [index, queries, whole, ids, scores, top_k](int64_t begin, int64_t end) {
          for (int64_t q = begin; q < end; ++q) {
            index->search_part_of_whole(queries->meanings(q), whole->by_query[q], top_k, ids->data() + q * top_k,
                                        scores->data() + q * top_k);
          }
        },
        [ids, scores](Napi::Env env) {
          auto object = Napi::Object::New(env);
          object["ids"] = to_typed_array<Napi::Int32Array>(env, *ids);
          object["scores"] = to_typed_array<Napi::Float64Array>(env, *scores);
          return object;
        });
  });
}

Napi::Value bm25_index_num_terms(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return Napi::Number::New(info.Env(), static_cast<double>(held<Bm25Search>(info[0])->num_terms()));
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
  add("bm25IndexFrequencies", bm25_index_frequencies);
  add("bm25IndexWithin", bm25_index_within);
  add("bm25IndexSearchPart", bm25_index_search_part);
  add("bm25IndexNumTerms", bm25_index_num_terms);
  add("bm25IndexCount", bm25_index_count);
  add("bm25IndexClose", close_handle<Bm25Search>);
}

}  // namespace seekrl::node
