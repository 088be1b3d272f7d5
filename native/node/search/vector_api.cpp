// Vector indexes for JavaScript: made, filled and searched on the search queue.
#include <optional>
#include <string>

#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "node/search/vector_values.h"
#include "search/vectors/exact_index.h"
#include "search/vectors/hnsw/hnsw_index.h"
#include "search/vectors/vector_rows_writer.h"
#include "search/vectors/vector_search.h"

namespace seekrl::node {

namespace {

using search::VectorIndex;
using search::VectorRowsWriter;
using search::VectorSearch;

// How many vectors a task inserts.
constexpr int64_t kPerTask = 16;

search::Metric to_metric(const std::string& name) {
  if (name == "cos") return search::Metric::kCos;
  if (name == "ip") return search::Metric::kIp;
  fail(ErrorCode::kArgument, "metric: expected cos or ip, got ", name);
}

search::Scalar to_scalar(const std::string& name) {
  if (name == "f32") return search::Scalar::kF32;
  if (name == "bf16") return search::Scalar::kBf16;
  if (name == "i8") return search::Scalar::kI8;
  if (name == "b1") return search::Scalar::kB1;
  fail(ErrorCode::kArgument, "dtype: expected f32, bf16, i8 or b1, got ", name);
}

const char* name_of(search::Scalar scalar) {
  if (scalar == search::Scalar::kF32) return "f32";
  if (scalar == search::Scalar::kBf16) return "bf16";
  return scalar == search::Scalar::kI8 ? "i8" : "b1";
}

search::VectorFormat to_format(const Napi::Object& options) {
  return {integer_of(options, "dim"), to_metric(text_of(options, "metric")), to_scalar(text_of(options, "dtype"))};
}

bool to_is_exact(const std::string& kind) {
  require(kind == "exact" || kind == "hnsw", ErrorCode::kArgument, "kind: expected exact or hnsw, got ", kind);
  return kind == "exact";
}

std::shared_ptr<VectorIndex> make_vector_index(const Napi::Object& options) {
  const search::VectorFormat format = to_format(options);
  const int64_t capacity = integer_of(options, "capacity");
  require(capacity >= 0 && capacity <= INT32_MAX, ErrorCode::kRange, "capacity: expected 0 to 2^31 - 1, got ",
          capacity);
  if (to_is_exact(text_of(options, "kind"))) return std::make_shared<search::ExactIndex>(format, capacity);
  const search::HnswOptions hnsw = {integer_of(options, "connectivity"), integer_of(options, "expansionAdd"),
                                    integer_of(options, "expansionSearch")};
  return std::make_shared<search::HnswIndex>(format, capacity, hnsw);
}

Napi::Value vector_index_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), make_vector_index(to_object(info[0], "options"))); });
}

// (path, kind, verify, capacity or undefined)
Napi::Value vector_index_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    std::optional<int64_t> capacity;
    if (!info[3].IsUndefined()) capacity = to_integer(info[3], "capacity");
    return post(
        info.Env(), search_queue(),
        [path = to_text(info[0], "path"), is_exact = to_is_exact(to_text(info[1], "kind")), verify = to_verify(info[2]),
         capacity] {
          if (is_exact) return std::shared_ptr<VectorIndex>(search::ExactIndex::open(path, verify, capacity));
          return std::shared_ptr<VectorIndex>(search::HnswIndex::open(path, verify, capacity));
        },
        [](Napi::Env env, const std::shared_ptr<VectorIndex>& index) { return wrap(env, index); });
  });
}

// An index that has room for `num_vectors` from row `first` on.
std::shared_ptr<VectorIndex> with_room(const Napi::Value& handle, int64_t first, int64_t num_vectors) {
  auto index = held<VectorIndex>(handle);
  require(!index->is_mapped(), ErrorCode::kState, "an index opened without capacity is read-only");
  require(first >= 0 && first <= index->capacity() - num_vectors, ErrorCode::kRange, "vectors: expected at most ",
          index->capacity(), ", got ", num_vectors, " from row ", first);
  return index;
}

Napi::Value vector_index_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int64_t dim = held<VectorIndex>(info[0])->format().dim, first = to_integer(info[1], "first");
    auto vectors = std::make_shared<std::vector<float>>(matrix(info[2], dim, "vectors"));
    const int64_t num_vectors = static_cast<int64_t>(vectors->size()) / dim;
    auto index = with_room(info[0], first, num_vectors);
    return post_ranges(
        info.Env(), num_vectors, kPerTask,
        [index, vectors, first, dim](int64_t begin, int64_t end) {
          index->add(first + begin, vectors->data() + begin * dim, end - begin);
        },
        nothing);
  });
}

// (index, first, source, begin, end): the rows of the source that are not removed; the promise is their number.
Napi::Value vector_index_add_rows(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto source = held<VectorIndex>(info[2]);
    const int64_t first = to_integer(info[1], "first"), begin = to_integer(info[3], "begin"),
                  end = std::min(source->count(), to_integer(info[4], "end"));
    const auto removed = source->removed();
    std::vector<int64_t> rows;
    for (int64_t row = std::max<int64_t>(0, begin); row < end; ++row) {
      if (removed == nullptr || !removed->has(row)) rows.push_back(row);
    }
    const auto num_rows = static_cast<int64_t>(rows.size());
    auto index = with_room(info[0], first, num_rows);
    require(index != source, ErrorCode::kArgument, "source: expected another index");
    require(index->format().dim == source->format().dim, ErrorCode::kShape, "source: expected width ",
            index->format().dim, ", got ", source->format().dim);
    return post_ranges(
        info.Env(), num_rows, kPerTask,
        [index, source, first, rows = std::move(rows)](int64_t from, int64_t to) {
          index->add_rows(first + from, *source, {rows.begin() + from, rows.begin() + to});
        },
        [num_rows](Napi::Env env) { return Napi::Number::New(env, static_cast<double>(num_rows)); });
  });
}

Napi::Value vector_index_remove(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    held<VectorIndex>(info[0])->remove(to_ids(info[1], "ids"));
    return info.Env().Undefined();
  });
}

// (index, first, count): f32 [count, dim].
Napi::Value vector_index_read(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    const int64_t first = to_integer(info[1], "first"), count = to_integer(info[2], "count");
    require(first >= 0 && count >= 0 && first <= index->count() - count, ErrorCode::kRange, "rows: expected 0 to ",
            index->count(), ", got ", count, " from row ", first);
    return post(
        info.Env(), search_queue(),
        [index, first, count] {
          const search::VectorFormat& format = index->format();
          std::vector<float> vectors(static_cast<size_t>(count * format.dim));
          for (int64_t i = 0; i < count; ++i) {
            decode_vector(format, index->rows().at(first + i), vectors.data() + i * format.dim);
          }
          return vectors;
        },
        to_float32_array);
  });
}

// (index, queries, {topK, expansion, overFetch, exact}, allowed or undefined, rescore or undefined)
Napi::Value vector_index_search(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    auto queries = matrix(info[1], index->format().dim, "queries");
    const Napi::Object options = to_object(info[2], "options");
    search::VectorRequest request = {integer_of(options, "topK"), integer_of(options, "expansion"),
                                     integer_of(options, "overFetch"), bool_of(options, "exact"), std::nullopt};
    check_top_k(request.top_k, index->count());
    check_over_fetch(request.over_fetch);
    require(request.expansion >= 0 && request.expansion <= 1 << 16, ErrorCode::kRange,
            "expansion: expected 0 to 65536, got ", request.expansion);
    if (!info[3].IsUndefined()) request.excluded = others_of(info[3], index->count());
    auto rescore = finer_rows(info[4], *index);
    auto search = std::make_shared<VectorSearch>(index, rescore, std::move(queries), std::move(request),
                                                 search_queue().num_threads());
    return post_ranges(
        info.Env(), search->num_tasks(), 1,
        [search](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) search->run(task);
        },
        [search](Napi::Env env) { return hits_to_js(env, search->ids_QK(), search->scores_QK()); });
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
    const auto removed = index->removed();
    auto object = Napi::Object::New(info.Env());
    object["count"] = static_cast<double>(index->count());
    object["dim"] = static_cast<double>(index->format().dim);
    object["dtype"] = name_of(index->format().scalar);
    object["numRemoved"] = removed == nullptr ? 0.0 : static_cast<double>(removed->count());
    return object;
  });
}

// (path, {dim, metric, dtype})
Napi::Value vector_rows_writer_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [path = to_text(info[0], "path"), format = to_format(to_object(info[1], "options"))] {
          return std::make_shared<VectorRowsWriter>(path, format);
        },
        [](Napi::Env env, const std::shared_ptr<VectorRowsWriter>& writer) { return wrap(env, writer); });
  });
}

Napi::Value vector_rows_writer_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto writer = held<VectorRowsWriter>(info[0]);
    const int64_t dim = writer->format().dim;
    return post(info.Env(), search_queue(), [writer, dim, vectors = matrix(info[1], dim, "vectors")] {
      writer->add(vectors.data(), static_cast<int64_t>(vectors.size()) / dim);
    });
  });
}

Napi::Value vector_rows_writer_count(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return Napi::Number::New(info.Env(), static_cast<double>(held<VectorRowsWriter>(info[0])->count()));
  });
}

Napi::Value vector_rows_writer_finish(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(), [writer = held<VectorRowsWriter>(info[0])] { writer->finish(); });
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
  add("vectorIndexAddRows", vector_index_add_rows);
  add("vectorIndexRemove", vector_index_remove);
  add("vectorIndexRead", vector_index_read);
  add("vectorIndexSearch", vector_index_search);
  add("vectorIndexSave", vector_index_save);
  add("vectorIndexInfo", vector_index_info);
  add("vectorIndexClose", close_handle<VectorIndex>);
  add("vectorRowsWriterOpen", vector_rows_writer_open);
  add("vectorRowsWriterAdd", vector_rows_writer_add);
  add("vectorRowsWriterCount", vector_rows_writer_count);
  add("vectorRowsWriterFinish", vector_rows_writer_finish);
  add("vectorRowsWriterClose", close_handle<VectorRowsWriter>);
}

}  // namespace seekrl::node
