// One packed forward without a cache.
#include "train/hidden.h"

#include "base/error.h"

namespace seekrl::train {

at::Tensor row_states(const model::Policy& policy, const Batch& batch) {
  model::SpanAttention attention(batch.spans);
  return policy.decoder->forward(batch.tokens_T, batch.positions_T, attention, batch.rows_R, policy.rows());
}

void check_frozen(const model::Policy& policy) {
  const bool is_frozen = policy.adapter == nullptr || !policy.decoder->parameters().front().value.requires_grad();
  require(is_frozen, ErrorCode::kState,
          "adapter: the model under it is trained too; close that trainer, or train the model alone");
}

}  // namespace seekrl::train
