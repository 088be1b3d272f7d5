// One step of AdamW (Loshchilov and Hutter, arXiv 1711.05101) over parameters, in every form in which they are kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace seekrl::ops {

// A moment: f32 of the parameter's shape, or its codes (u8) and the scales (f32) of their blocks; see kernels/adamw.h.
struct Moment {
  at::Tensor values;
  at::Tensor scales;  // undefined where values are f32
};

// Zeros that take memory when they are touched, in huge pages where there are any; with a folder, which needs a device
// of kind CPU, those of a file there (base/file_pages.h).
at::Tensor zero_state(at::IntArrayRef shape, at::Device device, at::ScalarType dtype, const std::string& folder = "");

// A moment of zeros for a parameter of this shape. Scales are always in memory.
Moment zero_moment(at::IntArrayRef shape, at::Device device, bool has_8_bits, const std::string& folder = "");

// A parameter of f32 or bf16, or a piece of one, with its f32 gradient; contiguous tensors of as many elements.
struct TrainedParameter {
  at::Tensor value, gradient;
  at::Tensor low;  // i16: the bits that bf16 weights lack of their f32; undefined for f32, and where they are rounded
                   // at random
  Moment first, second;
  double weight_decay = 0;
  int64_t stream = 0;  // of random bits: another one for each parameter
  int64_t offset = 0;  // of the piece in the parameter; a multiple of kernels::kMomentBlock
};

struct AdamWRates {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  int64_t num_steps = 1;  // this one included
  double gradient_divisor = 1;
};

// Updates values and moments, and zeroes the gradients. Random bits follow from num_steps, a parameter's stream and
// an element's place in it. The same bits on the CPU and on a GPU.
void adamw(const std::vector<TrainedParameter>& parameters, const AdamWRates& rates);

}  // namespace seekrl::ops
