// A number is beyond a dtype when its bits without the sign, as an integer, reach a limit.
#include "model/stored/finite.h"

#include <c10/util/Exception.h>

#include <limits>

namespace seekrl::model {

namespace {

template <class Bits>
int64_t first_from(const void* numbers, int64_t count, Bits limit) {
  constexpr Bits kSize = std::numeric_limits<Bits>::max();
  const auto* bits = static_cast<const Bits*>(numbers);
  // Below 0 for what is beyond.
  const auto left = [=](Bits each) { return static_cast<Bits>(limit - 1 - (each & kSize)); };
  Bits any = 0;  // its sign
  for (int64_t i = 0; i < count; ++i) any = static_cast<Bits>(any | left(bits[i]));
  if (any >= 0) return -1;
  int64_t i = 0;
  while (left(bits[i]) >= 0) ++i;
  return i;
}

}  // namespace

int64_t first_not_finite(const void* numbers, int64_t count, at::ScalarType from, at::ScalarType target) {
  const bool is_half = target == at::kHalf;
  switch (from) {
    case at::kFloat:
      // The least that rounds to infinity: half a step above the target's largest number.
      return first_from<int32_t>(numbers, count,
                                 is_half                   ? 0x477ff000
                                 : target == at::kBFloat16 ? 0x7f7f8000
                                                           : 0x7f800000);
    case at::kBFloat16: return first_from<int16_t>(numbers, count, is_half ? 0x4780 : 0x7f80);
    case at::kHalf: return first_from<int16_t>(numbers, count, 0x7c00);
    default: TORCH_INTERNAL_ASSERT(false);
  }
}

}  // namespace seekrl::model
