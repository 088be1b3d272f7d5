// Exact indexes on a card for JavaScript: filled and searched on the device queue.
#include "base/error.h"
#include "node/model/model_api.h"
#include "node/search/card_search.h"
#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "node/search/vector_values.h"
#include "search/vectors/exact_index.h"

namespace seekrl::node {

namespace {

using search::Scalar;
using search::VectorIndex;

void check_for_card(const VectorIndex& index) {
  require(dynamic_cast<const search::ExactIndex*>(&index) != nullptr, ErrorCode::kArgument,
          "device: graphs are walked on the CPU; expected kind exact for a card, or device cpu");
  require(index.format().scalar != Scalar::kF32, ErrorCode::kArgument,
          "device: on a card expected vectors of dtype bf16, i8 or b1; those of f32 have device cpu");
}

void check_finer(const VectorIndex& rescore) {
  const Scalar scalar = rescore.format().scalar;
  require(scalar == Scalar::kF32 || scalar == Scalar::kBf16, ErrorCode::kArgument,
          "rescore: on a card expected vectors of dtype f32 or bf16");
}

// (index, rescore or undefined, device); rows go to the card when they are uploaded or searched.
Napi::Value vector_card_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto index = held<VectorIndex>(info[0]);
    check_for_card(*index);
    std::shared_ptr<VectorIndex> rescore;
    if (!info[1].IsUndefined()) rescore = held<VectorIndex>(info[1]);
    if (rescore != nullptr) check_finer(*rescore);
    const at::Device device = to_device(to_text(info[2], "device"));
    return wrap(info.Env(), std::make_shared<CardSearch>(std::move(index), std::move(rescore), device));
  });
}

// (card, number of rows)
Napi::Value vector_card_upload(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [card = held<CardSearch>(info[0]), num_rows = to_integer(info[1], "rows")] { card->upload(num_rows); });
  });
}

// (card, queries, {topK, overFetch, numRows}, allowed or undefined, rescore or undefined)
Napi::Value vector_card_search(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto card = held<CardSearch>(info[0]);
    const VectorIndex& index = card->index();
    const Napi::Object options = to_object(info[2], "options");
    auto request = std::make_shared<CardRequest>(
        CardRequest{matrix(info[1], index.format().dim, "queries"), integer_of(options, "topK"),
                    integer_of(options, "overFetch"), integer_of(options, "numRows"), std::nullopt});
    check_top_k(request->top_k, request->num_rows);
    check_over_fetch(request->over_fetch);
    finer_rows(info[4], index);
    if (!info[3].IsUndefined()) {
      request->excluded = others_of(info[3], index.count());
      if (const auto removed = index.removed()) request->excluded->insert(*removed);
    }
    return post(
        info.Env(), device_queue(), [card, request] { return card->search(*request); },
        [](Napi::Env env, const Found& found) { return found.to_js(env); });
  });
}

}  // namespace

void export_vector_cards(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("vectorCardCreate", vector_card_create);
  add("vectorCardUpload", vector_card_upload);
  add("vectorCardSearch", vector_card_search);
  add("vectorCardClose", close_handle<CardSearch>);
}

}  // namespace seekrl::node
