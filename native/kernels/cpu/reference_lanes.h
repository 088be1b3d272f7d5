// What the reference kernels share: sums in the order of the fast ones' vectors.
#pragma once

namespace seekrl::kernels::reference {

// The tree that adds 16 lanes.
inline float sum_lanes(float (&lanes)[16]) {
  for (int width = 8; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

}  // namespace seekrl::kernels::reference
