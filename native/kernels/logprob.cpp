// Chooses the row statistics' implementation.
#include "kernels/logprob.h"

namespace seekrl::kernels {

RowStats row_stats(const float* logits, int64_t size, float inverse_temperature) {
  return reference::row_stats(logits, size, inverse_temperature);
}

}  // namespace seekrl::kernels
