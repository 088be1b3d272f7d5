// The sum of squares of numbers that ranks hold parts of, the same bits however they are shared out.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/process_group.h"

namespace seekrl::train {

// Neighbouring blocks of kernels::kMomentBlock numbers each.
struct BlockRun {
  const float* values;
  int64_t first_block, num_blocks;
};

// In f64, in a binary tree over the numbers of the blocks: a rank adds up what it holds whole of the tree, and all
// ranks put these together. Without a group `own` are all there are.
double square_sum(const std::vector<BlockRun>& own, comm::ProcessGroup* group);

}  // namespace seekrl::train
