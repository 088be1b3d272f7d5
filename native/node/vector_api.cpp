// Vector indexes for JavaScript: made, filled and searched on the search queue.
#include <cmath>
#include <limits>

#include "node/search_api.h"
#include "node/search_work.h"
#include "search/exact_index.h"
#include "search/hnsw_index.h"

namespace seekrl::node {

namespace {

using search::VectorIndex;

// Copies f32 [rows, dim] after looking at its shape and its values.
std::vector<float> matrix(const Napi::Value& value, int64_t dim, const char* name) {
  std::vector<float> values = to_floats(value, name);
  require(static_cast<int64_t>(values.size()) % dim == 0, ErrorCode::kShape, name, ": expected f32 [N, ", dim,
          "], got ", values.size(), " values");
  bool is_finite = true;
  for (const float each : values) is_finite &= std::fabs(each) <= std::numeric_limits<float>::max();
  require(is_finite, ErrorCode::kRange, name, ": expected finite values");
  return values;
}

search::Metric to_metric(const std::string& name) {
  if (name == "cos") return search::Metric::kCos;
  if (name == "ip") return search::Metric::kIp;
  fail(ErrorCode::kArgument, "metric: expected cos or ip, got ", name);
}

search::Scalar to_scalar(const std::string& name) {
  if (name == "f32") return search::Scalar::kF32;
  if (name == "bf16") return search::Scalar::kBf16;
  if (name == "i8") return search::Scalar::kI8;
  fail(ErrorCode::kArgument, "dtype: expected f32, bf16 or i8, got ", name);
}

bool to_is_exact(const std::string& kind) {
  require(kind == "exact" || kind == "hnsw", ErrorCode::kArgument, "kind: expected exact or hnsw, got ", kind);
  return kind == "exact";
}

std::shared_ptr<VectorIndex> make_vector_index(const Napi::Object& options) {
  const search::VectorFormat format = {integer_of(options, "dim"), to_metric(text_of(options, "metric")),
                                       to_scalar(text_of(options, "dtype"))};
  const int64_t capacity = integer_of(options, "capacity");
  require(capacity >= 0 && capacity <= INT32_MAX, ErrorCode::kRange, "capacity: expected 0 to 2^31 - 1, got ",
          capacity);
  if (to_is_exact(text_of(options, "kind"))) return std::make_shared<search::ExactIndex>(format, capacity);
  const search::HnswOptions hnsw = {integer_of(options, "connectivity"), integer_of(options, "expansionAdd"),
                                    integer_of(options, "expansionSearch")};
  return std::make_shared<search::HnswIndex>(format, capacity, hnsw, search_queue().num_threads());
}

Napi::Value vector_index_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), make_vector_index(to_object(info[0], "options"))); });
}

Napi::Value vector_index_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [path = to_text(info[0], "path"), is_exact = to_is_exact(to_text(info[1], "kind")),
         verify = to_verify(info[2])] {
          if (is_exact) return std::shared_ptr<VectorIndex>(search::ExactIndex::open(path, verify));
          return std::shared_ptr<VectorIndex>(search::HnswIndex::open(path, verify, search_queue().num_threads()));
        },
        [](Napi::Env env, const std::shared_ptr<VectorIndex>& index) { return wrap(env, index); });
  });
}

Napi::Value vector_index_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    require(!index->is_mapped(), ErrorCode::kState, "an opened index is read-only");
    const int64_t first = to_integer(info[1], "first"), dim = index->format().dim;
    auto vectors = std::make_shared<std::vector<float>>(matrix(info[2], dim, "vectors"));
    const int64_t num_vectors = static_cast<int64_t>(vectors->size()) / dim;
    require(first >= 0 && first <= index->capacity() - num_vectors, ErrorCode::kRange, "vectors: expected at most ",
            index->capacity(), ", got ", num_vectors, " from row ", first);
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
    const int64_t top_k = to_integer(info[2], "topK"), dim = index->format().dim;
    auto queries = std::make_shared<std::vector<float>>(matrix(info[1], dim, "queries"));
    const int64_t num_queries = static_cast<int64_t>(queries->size()) / dim, num_threads = search_queue().num_threads();
    const int64_t per_thread = (num_queries + num_threads - 1) / num_threads;
    const int64_t per_task = std::max<int64_t>(1, std::min(index->queries_per_task(), per_thread));
    auto found = std::make_shared<Found>(num_queries, top_k, index->count());
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
                [index = held<VectorIndex>(info[0]), path = to_text(info[1], "path")] { index->save(path); });
  });
}

Napi::Value vector_index_info(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    auto object = Napi::Object::New(info.Env());
    object["count"] = static_cast<double>(index->count());
    object["dim"] = static_cast<double>(index->format().dim);
    return object;
  });
}

}  // namespace

void export_vectors(Napi::Env env, Napi::Object exports) {
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
}

}  // namespace seekrl::node
