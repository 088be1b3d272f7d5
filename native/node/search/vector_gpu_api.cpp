// Exact indexes on a GPU for JavaScript: filled and searched on the device queue.
#include "base/error.h"
#include "node/model/model_api.h"
#include "node/search/gpu_search.h"
#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "node/search/vector_values.h"
#include "search/vectors/exact_index.h"

namespace seekrl::node {

namespace {

using search::Scalar;
using search::VectorIndex;

void check_for_gpu(const VectorIndex& index) {
  require(dynamic_cast<const search::ExactIndex*>(&index) != nullptr, ErrorCode::kArgument,
          "device: graphs are walked on the CPU; expected kind exact for a GPU, or device cpu");
  require(index.format().scalar != Scalar::kF32, ErrorCode::kArgument,
          "device: on a GPU expected vectors of dtype bf16, i8 or b1; those of f32 have device cpu");
}

void check_finer(const VectorIndex& rescore) {
  const Scalar scalar = rescore.format().scalar;
  require(scalar == Scalar::kF32 || scalar == Scalar::kBf16, ErrorCode::kArgument,
          "rescore: on a GPU expected vectors of dtype f32 or bf16");
}

// (index, rescore or undefined, device); rows go to the GPU when they are uploaded or searched.
Napi::Value vector_gpu_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    check_for_gpu(*index);
    std::shared_ptr<VectorIndex> rescore;
    if (!info[1].IsUndefined()) rescore = held<VectorIndex>(info[1]);
    if (rescore != nullptr) check_finer(*rescore);
    const at::Device device = to_device(to_text(info[2], "device"));
    return wrap(info.Env(), std::make_shared<GpuSearch>(std::move(index), std::move(rescore), device));
  });
}

// (GPU, number of rows)
Napi::Value vector_gpu_upload(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [gpu = held<GpuSearch>(info[0]), num_rows = to_integer(info[1], "rows")] { gpu->upload(num_rows); });
  });
}

// (GPU, queries, {topK, overFetch, numRows}, allowed or undefined, rescore or undefined)
Napi::Value vector_gpu_search(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto gpu = held<GpuSearch>(info[0]);
    const VectorIndex& index = gpu->index();
    const Napi::Object options = to_object(info[2], "options");
    auto request = std::make_shared<GpuRequest>(
        GpuRequest{matrix(info[1], index.format().dim, "queries"), integer_of(options, "topK"),
                   integer_of(options, "overFetch"), integer_of(options, "numRows"), std::nullopt});
    check_top_k(request->top_k, request->num_rows);
    check_over_fetch(request->over_fetch);
    finer_rows(info[4], index);
    if (!info[3].IsUndefined()) {
      request->excluded = others_of(info[3], index.count());
      if (const auto removed = index.removed()) request->excluded->insert(*removed);
    }
    return post(
        info.Env(), device_queue(), [gpu, request] { return gpu->search(*request); },
        [](Napi::Env env, const Found& found) { return found.to_js(env); });
  });
}

}  // namespace

void export_vector_gpus(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("vectorGpuCreate", vector_gpu_create);
  add("vectorGpuUpload", vector_gpu_upload);
  add("vectorGpuSearch", vector_gpu_search);
  add("vectorGpuClose", close_handle<GpuSearch>);
}

}  // namespace seekrl::node
