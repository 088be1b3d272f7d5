// Chooses attention's implementation.
#include "kernels/attention.h"

namespace seekrl::kernels {

void attend(const QueryRows& rows, const KeyValues& source, int64_t head_dim, float scale, float* log_sum_exp,
            float* scratch) {
  reference::attend(rows, source, head_dim, scale, log_sum_exp, scratch);
}

int64_t attend_scratch_floats(int64_t max_keys, int64_t /*head_dim*/) { return max_keys; }

}  // namespace seekrl::kernels
