// Sends each kernel to the best instruction set of this processor.
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "kernels/cpu/attention/attention_tiles.h"
#include "kernels/cpu/products/amx.h"
#include "kernels/isa.h"
#include "kernels/table.h"

namespace seekrl::kernels {

#define SEEKRL_VERSION(name) reference::name,
const KernelTable kPlainTable = {SEEKRL_KERNELS(SEEKRL_VERSION)};

namespace {

constexpr std::array kIsaNames = {"plain", "avx2", "avx512", "amx"};

}  // namespace

const char* isa_name(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

Isa named_isa(const char* name) {
  if (name == nullptr) return Isa::kAmx;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAmx}) {
    if (std::string_view(name) == isa_name(isa)) return isa;
  }
  fail(ErrorCode::kArgument, "SEEKRL_MAX_CPU_ISA: expected avx2, avx512 or amx, got \"", name,
       "\". Remedy: unset it to use all that the processor has.");
}

Isa best_isa() {
#if defined(__x86_64__)
  // Every processor with AVX2 converts f16, too.
  const bool has_avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (has_avx512 && has_avx2) return has_amx() ? Isa::kAmx : Isa::kAvx512;
  if (has_avx2) return Isa::kAvx2;
#endif
  return Isa::kPlain;
}

bool has_amx() {
#if defined(__x86_64__) && defined(__linux__)
  // ARCH_REQ_XCOMP_PERM for XTILEDATA, from the kernel's Documentation/arch/x86/xstate.rst.
  static const bool is_usable = __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
                                __builtin_cpu_supports("avx512bf16") && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
  return is_usable;
#else
  return false;
#endif
}

namespace {

const KernelTable& table_of(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::kAvx512) return kAvx512Table;
  if (isa == Isa::kAvx2) return kAvx2Table;
#endif
  (void)isa;
  return kPlainTable;
}

std::atomic<Isa>& chosen_isa() {
  static std::atomic<Isa> chosen = std::min(best_isa(), named_isa(std::getenv("SEEKRL_MAX_CPU_ISA")));
  return chosen;
}

const KernelTable& table() { return table_of(isa()); }

constexpr Bf16Table kPlainBf16Table = {SEEKRL_BF16_KERNELS(SEEKRL_VERSION)};

const Bf16Table& bf16_table() {
#if defined(__x86_64__)
  static const bool has_products = __builtin_cpu_supports("avx512bf16");
  if (has_tiles()) return kAmxBf16Table;
  if (isa() == Isa::kAvx512) return has_products ? kAvx512Bf16Table : kAvx512WidenedTable;
  if (isa() == Isa::kAvx2) return kAvx2Bf16Table;
#endif
  return kPlainBf16Table;
}

constexpr QuantTable kPlainQuantTable = {SEEKRL_QUANT_KERNELS(SEEKRL_VERSION)};

const QuantTable& quant_table() {
#if defined(__x86_64__)
  static const bool has_vnni = __builtin_cpu_supports("avx512vnni");
  if (isa() >= Isa::kAvx512 && has_vnni) return kAvx512VnniTable;
  if (isa() != Isa::kPlain) return kAvx2QuantTable;
#endif
  return kPlainQuantTable;
}

}  // namespace

Isa isa() { return chosen_isa().load(std::memory_order_relaxed); }

bool has_tiles() { return isa() == Isa::kAmx; }

void set_isa(Isa isa) { chosen_isa().store(isa); }

#define SEEKRL_FROM_TABLE(name)                            \
  template <>                                              \
  decltype(&reference::name) version<&reference::name>() { \
    return table().name;                                   \
  }
#define SEEKRL_FROM_BF16_TABLE(name)                       \
  template <>                                              \
  decltype(&reference::name) version<&reference::name>() { \
    return bf16_table().name;                              \
  }
#define SEEKRL_FROM_QUANT_TABLE(name)                      \
  template <>                                              \
  decltype(&reference::name) version<&reference::name>() { \
    return quant_table().name;                             \
  }
SEEKRL_KERNELS(SEEKRL_FROM_TABLE)
SEEKRL_BF16_KERNELS(SEEKRL_FROM_BF16_TABLE)
SEEKRL_QUANT_KERNELS(SEEKRL_FROM_QUANT_TABLE)

int64_t attend_scratch_floats(int64_t max_keys, int64_t head_dim) {
  const int64_t width = (head_dim + 15) / 16 * 16;
  return (64 + 2 * kMostRows) * width + scores_floats(max_keys, 1);
}

int64_t attend_backward_scratch_floats(int64_t max_keys, int64_t head_dim) {
  return (64 + 3 * kMostRows) * head_dim + scores_floats(max_keys, 2);
}

}  // namespace seekrl::kernels
