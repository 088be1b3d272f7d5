// One packed forward without a cache.
#include "train/hidden.h"

#include <utility>

#include "base/error.h"

namespace seekrl::train {

RowStates row_states(const model::Policy& policy, const Batch& batch, const model::TrainingPass& pass) {
  auto attention = std::make_unique<model::SpanAttention>(batch.spans, policy.decoder->dtype());
  const at::Tensor states_RD =
      policy.decoder->forward(batch.tokens_T, batch.positions_T, *attention, batch.rows_R, policy.rows(), pass);
  return {states_RD, std::move(attention)};
}

void check_frozen(const model::Policy& policy) {
  const bool is_frozen = policy.adapter == nullptr || !policy.decoder->parameters().front().value.requires_grad();
  require(is_frozen, ErrorCode::kState,
          "adapter: the model under it is trained too; close that trainer, or train the model alone");
}

}  // namespace seekrl::train
