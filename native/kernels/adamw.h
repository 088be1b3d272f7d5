// One step of AdamW over the elements of a parameter, in every form in which weights and moments are kept; CPU.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

// What is the same for all elements of a step; f32, as libtorch's fused kernel rounds them.
struct AdamWStep {
  float kept = 1;          // 1 - rate * decay
  float first_weight = 0;  // 1 - beta1
  float beta2 = 0;
  float second_weight = 0;  // 1 - beta2
  float root_divisor = 1;   // sqrt(1 - beta2^t)
  float epsilon = 0;
  float minus_rate = 0;  // -rate / (1 - beta1^t)
  float gradient_divisor = 1;
};

// Elements whose moments of 8 bits share one scale.
constexpr int64_t kMomentBlock = 256;

// Moments of one kind: f32, or codes of 8 bits with the largest magnitude of each block.
struct Moment {
  float* values = nullptr;
  uint8_t* codes = nullptr;
  float* scales = nullptr;
};

// n elements of one parameter. Weights are one of
//   f32 `weights`;
//   bf16 `halves` and `low`: the f32 whose bits are halves * 2^16 + low, so that a half is that f32 rounded to the
//     nearest, ties away from 0;
//   bf16 `halves` alone: updates are rounded at random, up with the probability of what is cut off, by element i's 16
//     bits of philox(seed, stream, i / 8).
struct AdamWSlice {
  int64_t n = 0;
  float* weights = nullptr;
  uint16_t* halves = nullptr;
  int16_t* low = nullptr;
  float* gradients = nullptr;
  Moment first, second;
  uint64_t seed = 0, stream = 0;
  int64_t offset = 0;  // of the first element in its parameter; a multiple of kMomentBlock
};

// With g = gradient / divisor: m += (1 - beta1) (g - m), v = beta2 v + (1 - beta2) g g,
// w = kept w - rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon); gradients become zero. The sums and
// roundings of libtorch's _fused_adamw_, so that f32 weights and moments have its bits. Moments of 8 bits: m by the
// signed map; of v the root by the unsigned one, whose seven decades then are as wide as m's, and never 0 where v is
// not, which would let m be divided by epsilon alone. Reads and writes 16 bytes an element and more, see AdamWSlice.
namespace reference {
void adamw(const AdamWSlice& slice, const AdamWStep& step);
}
SEEKRL_KERNEL(adamw);

}  // namespace seekrl::kernels
