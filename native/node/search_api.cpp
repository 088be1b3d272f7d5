// Vector indexes, BM25 and the hashed embedder for JavaScript: handles, and work split over the search queue.
#include "node/search_api.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "node/guard.h"
#include "search/bm25.h"
#include "search/exact_index.h"
#include "search/hashed_embedder.h"
#include "search/hnsw_index.h"

namespace seekrl::node {

namespace {

using search::Bm25Builder;
using search::Bm25Index;
using search::HashedEmbedder;
using search::IdfCounter;
using search::VectorIndex;

// What JavaScript holds of a native object: a share that `close` gives up; tasks hold their own.
template <class T>
Napi::Value wrap(Napi::Env env, std::shared_ptr<T> object) {
  return Napi::External<std::shared_ptr<T>>::New(env, new std::shared_ptr<T>(std::move(object)),
                                                 [](Napi::Env, std::shared_ptr<T>* share) { delete share; });
}

template <class T>
std::shared_ptr<T>& share_of(const Napi::Value& value) {
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
  share_of<T>(info[0]).reset();
  return info.Env().Undefined();
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

Napi::Value nothing(Napi::Env env) { return env.Undefined(); }

std::vector<std::string> strings(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<std::string> all(array.Length());
  for (uint32_t i = 0; i < array.Length(); ++i) all[i] = array.Get(i).As<Napi::String>().Utf8Value();
  return all;
}

// Copies f32 [rows, dim] after looking at its shape and its values.
std::vector<float> matrix(const Napi::Value& value, int64_t dim, const char* name) {
  const auto array = value.As<Napi::Float32Array>();
  const float* values = array.Data();
  const size_t num_values = array.ElementLength();
  require(static_cast<int64_t>(num_values) % dim == 0, ErrorCode::kShape, name, ": expected f32 [N, ", dim, "], got ",
          num_values, " values");
  bool is_finite = true;
  for (size_t i = 0; i < num_values; ++i) is_finite &= std::fabs(values[i]) <= std::numeric_limits<float>::max();
  require(is_finite, ErrorCode::kRange, name, ": expected finite values");
  return std::vector<float>(values, values + num_values);
}

int64_t integer(const Napi::Value& value) { return value.As<Napi::Number>().Int64Value(); }

template <class Array, class T>
Napi::Value typed_array(Napi::Env env, const std::vector<T>& values) {
  auto array = Array::New(env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(T));
  return array;
}

// Ids and scores of Q queries, K each.
struct Found {
  explicit Found(int64_t num_queries, int64_t top_k)
      : ids_QK(static_cast<size_t>(num_queries * top_k), -1), scores_QK(ids_QK.size()) {}

  Napi::Value to_js(Napi::Env env) const {
    auto object = Napi::Object::New(env);
    object["ids"] = typed_array<Napi::Int32Array>(env, ids_QK);
    object["scores"] = typed_array<Napi::Float32Array>(env, scores_QK);
    return object;
  }

  std::vector<int32_t> ids_QK;
  std::vector<float> scores_QK;
};

std::shared_ptr<Found> make_found(int64_t num_queries, int64_t top_k, int64_t count) {
  require(top_k >= 1, ErrorCode::kRange, "topK: expected at least 1, got ", top_k);
  require(top_k <= std::max<int64_t>(count, 1), ErrorCode::kRange, "topK: expected at most the index's ", count,
          " entries, got ", top_k);
  return std::make_shared<Found>(num_queries, top_k);
}

search::VectorFormat format_from(const Napi::Object& options) {
  const std::string metric = options.Get("metric").ToString(), dtype = options.Get("dtype").ToString();
  const auto scalar = dtype == "f32"    ? search::Scalar::kF32
                      : dtype == "bf16" ? search::Scalar::kBf16
                                        : search::Scalar::kI8;
  return {integer(options.Get("dim")), metric == "ip" ? search::Metric::kIp : search::Metric::kCos, scalar};
}

std::shared_ptr<VectorIndex> make_vector_index(const Napi::Object& options) {
  const auto format = format_from(options);
  const int64_t capacity = integer(options.Get("capacity"));
  require(capacity >= 0 && capacity <= INT32_MAX, ErrorCode::kRange, "capacity: expected 0 to 2^31 - 1, got ",
          capacity);
  if (options.Get("kind").ToString().Utf8Value() == "exact") {
    return std::make_shared<search::ExactIndex>(format, capacity);
  }
  const search::HnswOptions hnsw = {integer(options.Get("connectivity")), integer(options.Get("expansionAdd")),
                                    integer(options.Get("expansionSearch"))};
  return std::make_shared<search::HnswIndex>(format, capacity, hnsw, search_queue().num_threads());
}

Napi::Value vector_index_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), make_vector_index(info[0].As<Napi::Object>())); });
}

Napi::Value vector_index_open(const Napi::CallbackInfo& info) {
  const std::string path = info[0].ToString(), kind = info[1].ToString();
  return post(
      info.Env(), search_queue(),
      [path, kind]() -> std::shared_ptr<VectorIndex> {
        if (kind == "exact") return search::ExactIndex::open(path);
        return search::HnswIndex::open(path, search_queue().num_threads());
      },
      [](Napi::Env env, const std::shared_ptr<VectorIndex>& index) { return wrap(env, index); });
}

Napi::Value vector_index_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    require(!index->is_mapped(), ErrorCode::kState, "an opened index is read-only");
    const int64_t first = integer(info[1]), dim = index->format().dim;
    auto vectors = std::make_shared<std::vector<float>>(matrix(info[2], dim, "vectors"));
    const int64_t num_vectors = static_cast<int64_t>(vectors->size()) / dim;
    require(first + num_vectors <= index->capacity(), ErrorCode::kRange, "vectors: expected at most ",
            index->capacity(), ", got ", first + num_vectors);
    constexpr int64_t kPerTask = 16;
    return post_ranges(
        info.Env(), num_vectors, kPerTask,
        [index, vectors, first, dim](int64_t begin, int64_t end) {
          index->add(first + begin, vectors->data() + begin * dim, end - begin);
        },
        nothing);
  });
}

Napi::Value vector_index_search(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    const int64_t top_k = integer(info[2]), dim = index->format().dim;
    auto queries = std::make_shared<std::vector<float>>(matrix(info[1], dim, "queries"));
    const int64_t num_queries = static_cast<int64_t>(queries->size()) / dim, num_threads = search_queue().num_threads();
    const int64_t per_thread = (num_queries + num_threads - 1) / num_threads;
    const int64_t per_task = std::max<int64_t>(1, std::min(index->queries_per_task(), per_thread));
    auto found = make_found(num_queries, top_k, index->count());
    return post_ranges(
        info.Env(), num_queries, per_task,
        [index, queries, found, top_k, dim](int64_t begin, int64_t end) {
          index->search(queries->data() + begin * dim, end - begin, top_k, found->ids_QK.data() + begin * top_k,
                        found->scores_QK.data() + begin * top_k);
        },
        [found](Napi::Env env) { return found->to_js(env); });
  });
}

Napi::Value vector_index_save(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [index = held<VectorIndex>(info[0]), path = info[1].ToString().Utf8Value()] { index->save(path); });
  });
}

Napi::Value vector_index_info(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    constexpr const char* kDtypes[] = {"f32", "bf16", "i8"};
    auto object = Napi::Object::New(info.Env());
    object["count"] = static_cast<double>(index->count());
    object["dim"] = static_cast<double>(index->format().dim);
    object["metric"] = index->format().metric == search::Metric::kIp ? "ip" : "cos";
    object["dtype"] = kDtypes[static_cast<int>(index->format().scalar)];
    return object;
  });
}

Napi::Value bm25_builder_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const search::Bm25Options options = {info[0].As<Napi::Number>(), info[1].As<Napi::Number>()};
    return wrap(info.Env(), std::make_shared<Bm25Builder>(options));
  });
}

// The caller waits for each batch before the next: passages are numbered in the order of the calls.
Napi::Value bm25_builder_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(), [builder = held<Bm25Builder>(info[0]), passages = strings(info[1])] {
      for (const auto& terms : passages) builder->add(terms);
    });
  });
}

Napi::Value bm25_builder_save(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [builder = held<Bm25Builder>(info[0]), path = info[1].ToString().Utf8Value()] { builder->save(path); });
  });
}

Napi::Value bm25_index_open(const Napi::CallbackInfo& info) {
  return post(
      info.Env(), search_queue(), [path = info[0].ToString().Utf8Value()] { return std::make_shared<Bm25Index>(path); },
      [](Napi::Env env, const std::shared_ptr<Bm25Index>& index) { return wrap(env, index); });
}

Napi::Value bm25_index_search(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<Bm25Index>(info[0]);
    auto queries = std::make_shared<std::vector<std::string>>(strings(info[1]));
    const int64_t top_k = integer(info[2]);
    const auto num_queries = static_cast<int64_t>(queries->size());
    auto found = make_found(num_queries, top_k, index->count());
    return post_ranges(
        info.Env(), num_queries, 1,
        [index, queries, found, top_k](int64_t begin, int64_t end) {
          for (int64_t q = begin; q < end; ++q) {
            index->search((*queries)[static_cast<size_t>(q)], top_k, found->ids_QK.data() + q * top_k,
                          found->scores_QK.data() + q * top_k);
          }
        },
        [found](Napi::Env env) { return found->to_js(env); });
  });
}

Napi::Value bm25_index_count(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return Napi::Number::New(info.Env(), static_cast<double>(held<Bm25Index>(info[0])->count())); });
}

constexpr int64_t kTextsPerTask = 16;

Napi::Value idf_counter_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), std::make_shared<IdfCounter>()); });
}

Napi::Value idf_counter_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto counter = held<IdfCounter>(info[0]);
    auto texts = std::make_shared<std::vector<std::string>>(strings(info[1]));
    return post_ranges(
        info.Env(), static_cast<int64_t>(texts->size()), kTextsPerTask,
        [counter, texts](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) counter->add((*texts)[static_cast<size_t>(i)]);
        },
        nothing);
  });
}

// (dim, counter or undefined)
Napi::Value embedder_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto idf = info[1].IsUndefined() ? std::vector<float>() : held<IdfCounter>(info[1])->idf();
    return wrap(info.Env(), std::make_shared<HashedEmbedder>(integer(info[0]), std::move(idf)));
  });
}

Napi::Value embedder_open(const Napi::CallbackInfo& info) {
  return post(
      info.Env(), search_queue(),
      [path = info[0].ToString().Utf8Value()] { return std::make_shared<HashedEmbedder>(HashedEmbedder::open(path)); },
      [](Napi::Env env, const std::shared_ptr<HashedEmbedder>& embedder) { return wrap(env, embedder); });
}

Napi::Value embedder_embed(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto embedder = held<HashedEmbedder>(info[0]);
    auto texts = std::make_shared<std::vector<std::string>>(strings(info[1]));
    const auto num_texts = static_cast<int64_t>(texts->size());
    const int64_t dim = embedder->dim();
    auto vectors = std::make_shared<std::vector<float>>(static_cast<size_t>(num_texts * dim));
    return post_ranges(
        info.Env(), num_texts, kTextsPerTask,
        [embedder, texts, vectors, dim](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            embedder->embed((*texts)[static_cast<size_t>(i)], vectors->data() + i * dim);
          }
        },
        [vectors](Napi::Env env) { return typed_array<Napi::Float32Array>(env, *vectors); });
  });
}

Napi::Value embedder_save(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [embedder = held<HashedEmbedder>(info[0]), path = info[1].ToString().Utf8Value()] { embedder->save(path); });
  });
}

Napi::Value embedder_dim(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return Napi::Number::New(info.Env(), static_cast<double>(held<HashedEmbedder>(info[0])->dim()));
  });
}

}  // namespace

void export_search(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("vectorIndexCreate", vector_index_create);
  add("vectorIndexOpen", vector_index_open);
  add("vectorIndexAdd", vector_index_add);
  add("vectorIndexSearch", vector_index_search);
  add("vectorIndexSave", vector_index_save);
  add("vectorIndexInfo", vector_index_info);
  add("vectorIndexClose", close_handle<VectorIndex>);
  add("bm25BuilderCreate", bm25_builder_create);
  add("bm25BuilderAdd", bm25_builder_add);
  add("bm25BuilderSave", bm25_builder_save);
  add("bm25BuilderClose", close_handle<Bm25Builder>);
  add("bm25IndexOpen", bm25_index_open);
  add("bm25IndexSearch", bm25_index_search);
  add("bm25IndexCount", bm25_index_count);
  add("bm25IndexClose", close_handle<Bm25Index>);
  add("idfCounterCreate", idf_counter_create);
  add("idfCounterAdd", idf_counter_add);
  add("embedderCreate", embedder_create);
  add("embedderOpen", embedder_open);
  add("embedderEmbed", embedder_embed);
  add("embedderSave", embedder_save);
  add("embedderDim", embedder_dim);
  add("embedderClose", close_handle<HashedEmbedder>);
}

}  // namespace seekrl::node
