// Detection by cpuid, once.
#include "kernels/isa.h"

#include <atomic>

namespace seekrl::kernels {

Isa best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
#endif
  return Isa::kPlain;
}

namespace {
std::atomic<Isa>& chosen() {
  static std::atomic<Isa> value = best_isa();
  return value;
}
}  // namespace

Isa isa() { return chosen().load(std::memory_order_relaxed); }

void set_isa(Isa isa) { chosen().store(isa); }

}  // namespace seekrl::kernels
