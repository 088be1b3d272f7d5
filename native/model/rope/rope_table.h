// Sines and cosines of every position, so that a position's angle has the same bits in every batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/config.h"

namespace seekrl::model {

class RopeTable {
 public:
  RopeTable() = default;
  RopeTable(const RopeConfig& rope, int64_t head_dim, at::Device device);

  struct Angles {
    at::Tensor cos_TF, sin_TF;  // f32
  };
  // positions_T: i64. On the CPU the table grows to the largest position seen; on a GPU angles are made each time.
  // ERR_RANGE on the CPU for a position beyond those that the frequencies are stretched for.
  Angles at(const at::Tensor& positions_T);

 private:
  void grow(int64_t num_positions);

  std::vector<float> frequencies_;  // radians per position
  double scale_ = 1.0;              // of sines and cosines
  int64_t most_positions_ = 0;      // 0: no bound
  at::Tensor frequencies_F_;
  at::Tensor cos_PF_, sin_PF_;
};

}  // namespace seekrl::model
