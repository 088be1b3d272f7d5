// Runs the rows of one step through the decoder.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "engine/paged_attention.h"
#include "engine/scheduler.h"
#include "model/decoder.h"

namespace seekrl::engine {

class Runner {
 public:
  Runner(std::shared_ptr<const model::Decoder> decoder, const BlockPool& pool)
      : decoder_(std::move(decoder)), attention_(decoder_->config(), pool) {}

  // Caches the rows' tokens and returns the logits [R, V] of those that sample, in their order; undefined for none.
  at::Tensor run(const std::vector<Row>& rows);

 private:
  std::shared_ptr<const model::Decoder> decoder_;
  PagedAttention attention_;
  std::vector<int64_t> tokens_T_, positions_T_, sampling_R_;
};

}  // namespace seekrl::engine
