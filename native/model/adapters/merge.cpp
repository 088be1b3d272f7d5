// One small product for each target.
#include "model/adapters/merge.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"

namespace seekrl::model {

namespace {

void merge_own(Decoder& decoder, const Adapter& adapter) {
  at::NoGradGuard no_grad;
  require(decoder.quantised().empty(), ErrorCode::kState, "merge: expected plain weights, got a quantised ",
          decoder.quantised().empty() ? "" : decoder.quantised().front().name, "; load the model without `weights`");
  const auto& projections = decoder.projections();
  for (size_t i = 0; i < projections.size(); ++i) {
    const Adapter::LowRank* pair = adapter.at(static_cast<int64_t>(i));
    if (pair == nullptr) continue;
    at::Tensor weight_NK = decoder.own_parameter(projections[i].name + ".weight");
    require(!weight_NK.requires_grad(), ErrorCode::kState, "merge: ", projections[i].name,
            ".weight is trained; close the model's trainer first");
    weight_NK.copy_(weight_NK.to(at::kFloat).addmm_(pair->up_NR, pair->down_RK, 1.0, adapter.scale()));
  }
  decoder.weights_changed();
}

}  // namespace

void merge(Decoder& decoder, const Adapter& adapter) {
  decoder.parallel().together([&] { return CommandWriter(Task::kMerge).number(adapter.id()).take(); },
                              [&] { merge_own(decoder, adapter); });
}

}  // namespace seekrl::model
