// CUDA's names for g++: what a kernel may use, on the emulator's threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "alignment.h"
#include "runtime.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

#define threadIdx (seekrl::emulator::this_thread().index)
#define blockIdx (seekrl::emulator::block_index())
#define blockDim (seekrl::emulator::this_block().shape)
#define gridDim (seekrl::emulator::this_block().grid)

using dim3 = seekrl::emulator::Dim3;
// Where a collective stands.
using SourcePlace = std::source_location;

struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};

inline void __syncthreads(const SourcePlace& at = SourcePlace::current()) { seekrl::emulator::sync_block(at); }
inline void __syncwarp(uint32_t mask = ~0u, const SourcePlace& at = SourcePlace::current()) {
  seekrl::emulator::meet(mask, seekrl::emulator::Collective::kSync, at);
}

template <class Value>
Value __shfl_sync(uint32_t mask, Value value, int from, const SourcePlace& at = SourcePlace::current()) {
  return seekrl::emulator::shuffle(mask, value, from, at);
}
template <class Value>
Value __shfl_xor_sync(uint32_t mask, Value value, int bits, const SourcePlace& at = SourcePlace::current()) {
  return seekrl::emulator::shuffle(mask, value, seekrl::emulator::this_thread().lane ^ bits, at);
}
// A lane below `by` keeps its own.
template <class Value>
Value __shfl_up_sync(uint32_t mask, Value value, int by, const SourcePlace& at = SourcePlace::current()) {
  const int lane = seekrl::emulator::this_thread().lane;
  return seekrl::emulator::shuffle(mask, value, lane < by ? lane : lane - by, at);
}
template <class Value>
Value __shfl_down_sync(uint32_t mask, Value value, int by, const SourcePlace& at = SourcePlace::current()) {
  const int lane = seekrl::emulator::this_thread().lane;
  return seekrl::emulator::shuffle(mask, value, lane + by > 31 ? lane : lane + by, at);
}
inline uint32_t __ballot_sync(uint32_t mask, bool holds, const SourcePlace& at = SourcePlace::current()) {
  using namespace seekrl::emulator;
  bring(holds);
  const uint32_t meeting = meet(mask, Collective::kVote, at);
  uint32_t votes = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) != 0 && brought<bool>(meeting, lane)) votes |= 1u << lane;
  }
  return votes;
}
inline bool __any_sync(uint32_t mask, bool holds, const SourcePlace& at = SourcePlace::current()) {
  return __ballot_sync(mask, holds, at) != 0;
}
inline bool __all_sync(uint32_t mask, bool holds, const SourcePlace& at = SourcePlace::current()) {
  return __ballot_sync(mask, holds, at) == mask;
}

template <class Value>
Value atomicAdd(Value* to, Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    Value before = std::atomic_ref(*to).load();
    while (!std::atomic_ref(*to).compare_exchange_weak(before, before + value)) {
    }
    return before;
  } else {
    return std::atomic_ref(*to).fetch_add(value);
  }
}
template <class Value>
Value atomicMax(Value* to, Value value) {
  Value before = std::atomic_ref(*to).load();
  while (before < value && !std::atomic_ref(*to).compare_exchange_weak(before, value)) {
  }
  return before;
}
inline void __threadfence() {}

inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline int __popc(uint32_t bits) { return std::popcount(bits); }
inline int __clz(uint32_t bits) { return std::countl_zero(bits); }
inline int __ffs(uint32_t bits) { return bits == 0 ? 0 : std::countr_zero(bits) + 1; }
inline uint32_t __float_as_uint(float x) { return std::bit_cast<uint32_t>(x); }
inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
}
template <class Value>
Value min(Value a, Value b) {
  return a < b ? a : b;
}
template <class Value>
Value max(Value a, Value b) {
  return a < b ? b : a;
}
template <class Value>
Value __ldg(const Value* at) {
  return *at;
}

namespace seekrl::cuda {

// The bytes land when their group is waited for and no sooner, so that a missing wait shows. What was there is gone at
// once, so that it shows when someone still reads it; what they are copied from must not change until then.
inline void copy_async(void* to, const void* from, int num_bytes) {
  using namespace seekrl::emulator;
  if (num_bytes != 0 && reinterpret_cast<uintptr_t>(from) % 16 != 0) fail("cp.async: not from a multiple of 16");
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0) fail("cp.async: not to a multiple of 16");
  Copy copy{to, num_bytes == 0 ? nullptr : from, {}, 0};
  if (num_bytes > 0) std::memcpy(copy.bytes, from, num_bytes);
  for (int i = 0; i < 4; ++i) static_cast<uint32_t*>(to)[i] = ~0u;  // ThreadSanitizer does not see a short memset
  const OwnBusiness own;
  copy.group = this_thread().num_groups;
  this_thread().copies.push_back(copy);
  count(counts.num_copies);
}
inline void copy_async_16(void* to, const void* from) { copy_async(to, from, 16); }
// Zeros where there is nothing to copy; `from` is not read then.
inline void copy_async_16_or_zero(void* to, const void* from, bool is_there) {
  copy_async(to, from, is_there ? 16 : 0);
}
inline void copy_async_commit() {
  const emulator::OwnBusiness own;
  ++emulator::this_thread().num_groups;
}
// The oldest copy, when its group is not among the last `num_pending`.
inline bool take_copy(emulator::Copy& copy, int num_pending) {
  const emulator::OwnBusiness own;
  emulator::Thread& thread = emulator::this_thread();
  if (thread.copies.empty() || thread.copies.front().group >= thread.num_groups - num_pending) return false;
  copy = thread.copies.front();
  thread.copies.pop_front();
  if (copy.from != nullptr && std::memcmp(copy.from, copy.bytes, 16) != 0)
    emulator::fail("cp.async: what is copied was written before the wait");
  return true;
}
template <int kPending>
void copy_async_wait() {
  emulator::Copy copy;
  while (take_copy(copy, kPending)) std::memcpy(copy.to, copy.bytes, 16);
}

// Eight rows of 16 bytes are read at once: two in the same four banks cost another turn.
inline void count_conflicts(uint32_t meeting, int first_lane) {
  int num_rows[8] = {}, worst = 0;
  for (int i = 0; i < 8; ++i) {
    const auto row = emulator::brought<uintptr_t>(meeting, first_lane + i);
    worst = std::max(worst, ++num_rows[row / 16 % 8]);
  }
  emulator::count(emulator::counts.num_bank_conflicts, worst - 1);
}

// Matrices of 8 x 8 values of 16 bits; lane l of each eight gives the address of row l of its matrix.
template <bool kIsTransposed>
void load_matrices(uint32_t (&registers)[4], const void* row) {
  using namespace emulator;
  const int lane = this_thread().lane;
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) fail("ldmatrix: a row at no multiple of 16");
  bring(row);
  const uint32_t meeting = meet(~0u, Collective::kLdmatrix);
  if (lane < 4) {
    const OwnBusiness own;
    count_conflicts(meeting, lane * 8);
    count(counts.num_ldmatrix, lane == 0);
  }
  for (int m = 0; m < 4; ++m) {
    uint32_t pair = 0;
    for (int i = 0; i < 2; ++i) {
      const int r = kIsTransposed ? lane % 4 * 2 + i : lane / 4, c = kIsTransposed ? lane / 4 : lane % 4 * 2 + i;
      pair |= uint32_t{brought<const uint16_t*>(meeting, m * 8 + r)[c]} << 16 * i;
    }
    registers[m] = pair;
  }
  meet(~0u, Collective::kLdmatrixRead);  // the rows may be written over when all lanes have read
}
inline void load_matrices_x4(uint32_t (&r)[4], const void* row) { load_matrices<false>(r, row); }
inline void load_matrices_x4_transposed(uint32_t (&r)[4], const void* row) { load_matrices<true>(r, row); }

// d [16, 8] += a [16, K] b [K, 8] in the registers of mma.m16n8k16 and, of 8 bits, mma.m16n8k32: `number` makes a
// factor of the `Bits` that one has in a register.
template <class Bits, class Element, class Number>
void multiply_fragments(Element (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const Number& number) {
  using namespace emulator;
  struct Fragments {
    uint32_t values[6];
  };
  constexpr int kBits = 8 * sizeof(Bits), kNumbers = 32 / kBits, kDepth = 8 * kNumbers;
  const int lane = this_thread().lane;
  bring(Fragments{{a[0], a[1], a[2], a[3], b0, b1}});
  const uint32_t meeting = meet(~0u, Collective::kMma);
  count(counts.num_mma, lane == 0);
  // Rows lane / 4 and lane / 4 + 8 of a, columns lane % 4 * 2 and the next of b.
  SEEKRL_UNSET decltype(number(Bits{})) rows[2][kDepth], columns[2][kDepth];
  for (int i = 0; i < 2; ++i) {
    for (int from = 0; from < 4; ++from) {
      const auto of_a = brought<Fragments>(meeting, lane / 4 * 4 + from);
      const auto of_b = brought<Fragments>(meeting, (lane % 4 * 2 + i) * 4 + from);
      for (int n = 0; n < 2 * kNumbers; ++n) {
        const int half = n / kNumbers, at = n % kNumbers, k = half * 4 * kNumbers + from * kNumbers + at;
        rows[i][k] = number(static_cast<Bits>(of_a.values[half * 2 + i] >> at * kBits));
        columns[i][k] = number(static_cast<Bits>(of_b.values[4 + half] >> at * kBits));
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    Element sum = 0;
    for (int k = 0; k < kDepth; ++k) sum += rows[i / 2][k] * columns[i % 2][k];
    d[i] += sum;
  }
}
inline float float_of_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
// C++ of g++ 12 has no _Float16 on aarch64; what is there converts alike.
#if defined(__aarch64__)
using Half = __fp16;
#else
using Half = _Float16;
#endif
inline float float_of_f16(uint16_t bits) { return static_cast<float>(std::bit_cast<Half>(bits)); }
inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply_fragments<uint16_t>(d, a, b0, b1, float_of_bf16);
}
inline void mma_f16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply_fragments<uint16_t>(d, a, b0, b1, float_of_f16);
}
inline void mma_int8(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply_fragments<uint8_t>(d, a, b0, b1, [](uint8_t bits) { return int32_t{static_cast<int8_t>(bits)}; });
}
// 32 factors of 0 or 1 each.
struct BitWord {
  uint32_t bits;
  friend int32_t operator*(BitWord a, BitWord b) { return std::popcount(a.bits & b.bits); }
};
inline void mma_bits(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  multiply_fragments<uint32_t>(d, a, b0, b1, [](uint32_t bits) { return BitWord{bits}; });
}
constexpr bool kHasBitProducts = true;

}  // namespace seekrl::cuda
