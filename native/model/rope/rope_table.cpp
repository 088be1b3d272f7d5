// The table is computed by the C library in double, one entry at a time.
#include "model/rope/rope_table.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/rope/rope_frequencies.h"
#include "ops/gpu/tokens.h"

namespace seekrl::model {

RopeTable::RopeTable(const RopeConfig& rope, int64_t head_dim, at::Device device)
    : frequencies_(rope_frequencies(rope, head_dim)),
      scale_(rope.attention_factor),
      most_positions_(rope.most_positions),
      frequencies_F_(at::tensor(frequencies_, at::kFloat).to(device)) {}

void RopeTable::grow(int64_t num_positions) {
  const int64_t known = cos_PF_.defined() ? cos_PF_.size(0) : 0;
  if (num_positions <= known) return;
  const int64_t size = std::max(num_positions, 2 * known), width = static_cast<int64_t>(frequencies_.size());
  cos_PF_ = at::empty({size, width}, at::kFloat);
  sin_PF_ = at::empty({size, width}, at::kFloat);
  float *cos = cos_PF_.mutable_data_ptr<float>(), *sin = sin_PF_.mutable_data_ptr<float>();
  for (int64_t i = 0; i < size * width; ++i) {
    // The angle is rounded to f32 first, as Hugging Face's models have it.
    const double angle = static_cast<float>(i / width) * frequencies_[i % width];
    cos[i] = static_cast<float>(std::cos(angle) * scale_);
    sin[i] = static_cast<float>(std::sin(angle) * scale_);
  }
}

RopeTable::Angles RopeTable::at(const at::Tensor& positions_T) {
  if (!positions_T.device().is_cpu()) {
    const auto [cos_TF, sin_TF] = ops::gpu_rotary_angles(positions_T, frequencies_F_, scale_);
    return {cos_TF, sin_TF};
  }
  const at::Tensor positions = positions_T.contiguous();
  const int64_t* data = positions.const_data_ptr<int64_t>();
  const auto [least, most] = std::minmax_element(data, data + positions.numel());
  if (positions.numel() > 0) {
    require(*least >= 0, ErrorCode::kRange, "positions: expected 0 or more, got ", *least);
    require(most_positions_ == 0 || *most < most_positions_, ErrorCode::kRange, "positions: expected less than ",
            most_positions_, ", for which the model's rotary frequencies are stretched, got ", *most,
            "; load it with a larger contextTokens");
    grow(*most + 1);
  } else {
    grow(1);
  }
  return {cos_PF_.index_select(0, positions), sin_PF_.index_select(0, positions)};
}

}  // namespace seekrl::model
