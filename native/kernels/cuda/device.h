// What kernels are written in: CUDA, or the emulator's likeness of it where another compiler reads them.
//
// Names of our own stand for the instructions that CUDA C++ has no names for.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)

// Shared memory as large as the launch says, and an array of it, which may be read and written 16 bytes at a time.
#define SEEKRL_DYNAMIC_SHARED(Type, name)                          \
  extern __shared__ __align__(128) unsigned char dynamic_shared[]; \
  Type* const name = reinterpret_cast<Type*>(dynamic_shared)
#define SEEKRL_SHARED(Type, name, count) __shared__ __align__(16) Type name[count]

namespace seekrl::cuda {

__device__ __forceinline__ uint32_t shared_address(const void* at) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(at));
}

// 16 bytes from global to shared memory, past the first-level cache; both addresses are multiples of 16.
__device__ __forceinline__ void copy_async_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
// Zeros where there is nothing to copy; `from` is not read then.
__device__ __forceinline__ void copy_async_16_or_zero(void* to, const void* from, bool is_there) {
  const int num_bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(num_bytes)
               : "memory");
}
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all of this thread's groups but the last kPending.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Matrices of 8 x 8 values of 16 bits in a warp's registers; lane l of each eight gives the address of row l.
__device__ __forceinline__ void load_matrices_x4(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void load_matrices_x4_transposed(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// A warp's product: `of` is what PTX calls its shape and numbers, `place` the constraint of an Element in a register.
#define SEEKRL_MMA(name, Element, place, of)                                                               \
  __device__ __forceinline__ void name(Element(&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) { \
    asm volatile("mma.sync.aligned." of " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : place(d[0]), place(d[1]), place(d[2]), place(d[3])                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                          \
  }

// d [16, 8] += a [16, 16] b [16, 8]. Lane l holds d at rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the next.
SEEKRL_MMA(mma_bf16, float, "+f", "m16n8k16.row.col.f32.bf16.bf16.f32")
SEEKRL_MMA(mma_f16, float, "+f", "m16n8k16.row.col.f32.f16.f16.f32")
// The same of codes of 8 bits, a [16, 32] and b [32, 8]: registers hold four neighbours where mma_bf16 has two.
SEEKRL_MMA(mma_int8, int32_t, "+r", "m16n8k32.row.col.s32.s8.s8.s32")
// d += how many bits are set in both, a [16, 256] and b [256, 8]: registers hold 32 neighbours. Up to sm_90 it is one
// instruction (its "xor" is two on sm_90); later GPUs have mma_int8 alone, of which the assembler would write eight
// with more registers than there are.
SEEKRL_MMA(mma_bits, int32_t, "+r", "m16n8k256.row.col.s32.b1.b1.s32.and.popc")
#undef SEEKRL_MMA

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr bool kHasBitProducts = false;
#else
constexpr bool kHasBitProducts = true;
#endif

}  // namespace seekrl::cuda

#else

#include <emulator/device.h>  // of the tests

#define SEEKRL_DYNAMIC_SHARED(Type, name) \
  Type* const name = static_cast<Type*>(seekrl::emulator::dynamic_shared_memory())
#define SEEKRL_SHARED(Type, name, count)                                       \
  static const int name##_variable = ++seekrl::emulator::num_shared_variables; \
  Type* const name = static_cast<Type*>(seekrl::emulator::shared_memory(name##_variable, sizeof(Type) * (count)))

#endif
