// One packed forward without a cache.
#include "train/hidden.h"

namespace seekrl::train {

at::Tensor row_states(const model::Decoder& decoder, const Batch& batch) {
  model::SpanAttention attention(batch.spans);
  return decoder.forward(batch.tokens_T, batch.positions_T, attention, batch.rows_R);
}

}  // namespace seekrl::train
