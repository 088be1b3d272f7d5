// Sines and cosines of every position, so that a position's angle has the same bits in every batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace seekrl::model {

class RopeTable {
 public:
  // frequencies_F: angle per position step.
  RopeTable() = default;
  RopeTable(std::vector<float> frequencies_F, at::Device device);

  struct Angles {
    at::Tensor cos_TF, sin_TF;  // f32
  };
  // positions_T: i64. On the CPU the table grows to the largest position seen; elsewhere angles are made each time.
  Angles at(const at::Tensor& positions_T);

 private:
  void grow(int64_t num_positions);

  std::vector<float> frequencies_;
  at::Tensor frequencies_F_;
  at::Tensor cos_PF_, sin_PF_;
};

}  // namespace seekrl::model
