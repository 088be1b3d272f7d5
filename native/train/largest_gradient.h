// How large a gradient may be.
#pragma once

namespace seekrl::train {

// A quarter of what f32 holds when squared: a root is rounded before it is squared again.
constexpr double kMostGradient = 0x1p63;

}  // namespace seekrl::train
