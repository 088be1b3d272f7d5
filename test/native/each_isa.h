// Runs kernels on every instruction set of this processor, and compares bits.
#pragma once

#include <cstring>
#include <vector>

#include "kernels/isa.h"

namespace seekrl::test {

// Runs `body` with each instruction set this processor has.
template <class Body>
void with_each_isa(const Body& body) {
  for (const kernels::Isa isa :
       {kernels::Isa::kPlain, kernels::Isa::kAvx2, kernels::Isa::kAvx512, kernels::Isa::kAmx}) {
    if (isa > kernels::best_isa()) continue;
    kernels::set_isa(isa);
    body();
  }
  kernels::set_isa(kernels::best_isa());
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace seekrl::test
