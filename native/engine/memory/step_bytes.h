// What a GPU has room for beside a step of the engine.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/limits.h"
#include "model/config.h"

namespace seekrl::engine {

struct StepSizes {
  Limits limits;
  int64_t max_tokens;  // of the longest sequence
};

// Bytes that a step in 16 bits takes beside weights and cache, at most: its widest layer, the logits of all rows that
// draw, those of a chunk of scores, what attention keeps of splits, and the same of a decoding step, for graphs.
// Computed from the shapes.
int64_t step_bytes(const model::DecoderConfig& config, const StepSizes& sizes);

// What is free of a GPU, less a tenth of all for what else is on it and for what lies in pieces, less a step's.
int64_t room_beside_step(at::Device device, int64_t step_bytes);

}  // namespace seekrl::engine
