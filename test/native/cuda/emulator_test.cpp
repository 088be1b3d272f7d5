// What the emulator must find: each kernel here has a fault that a GPU may let pass.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.h"

using namespace seekrl;
using namespace seekrl::cuda;

namespace {

template <class... Parameters, class... Arguments>
std::string fault_of(void (*kernel)(Parameters...), int num_threads, Arguments... arguments) {
  const Status status = launch(kernel, dim3(1), dim3(num_threads), 1024, nullptr, arguments...);
  return status == nullptr ? "" : status;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

__global__ void some_skip_a_barrier() {
  if (threadIdx.x < 32) __syncthreads();
}

__global__ void barriers_part() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void shuffles_part(int* out) {
  const int lane = threadIdx.x;
  if (lane < 16) {
    out[lane] = __shfl_xor_sync(~0u, lane, 1);
  } else {
    out[lane] = __shfl_xor_sync(~0u, lane, 2);
  }
}

__global__ void a_lane_ends_early(int* out) {
  if (threadIdx.x == 31) return;
  out[threadIdx.x] = __shfl_xor_sync(~0u, static_cast<int>(threadIdx.x), 1);
}

// As if all lanes of a warp went on together.
template <bool kHasBarrier>
__global__ void in_lockstep(float* out) {
  SEEKRL_SHARED(float, tile, 32);
  tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (kHasBarrier) __syncwarp();
  out[threadIdx.x] = tile[31 - threadIdx.x];
}

// As if warps went on side by side: the second reads what the first writes before their barrier.
__global__ void side_by_side(float* out) {
  SEEKRL_SHARED(float, tile, 64);
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x ^ 32];
  __syncthreads();
}

// As if the second warp waited for the first one's second phase.
__global__ void overtakes(float* out) {
  SEEKRL_SHARED(float, tile, 32);
  if (threadIdx.x < 32) tile[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x >= 32) out[threadIdx.x - 32] = tile[threadIdx.x - 32];
  if (threadIdx.x < 32) tile[threadIdx.x] = 2;
}

__global__ void order_of_threads(int* out, int* next) { out[atomicAdd(next, 1)] = static_cast<int>(threadIdx.x); }

__global__ void sums_unset(float* out) {
  float sums[8];
  for (int i = 0; i < 8; ++i) {
    if (i != static_cast<int>(threadIdx.x) % 8) sums[i] = 1;
  }
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += sums[i];
  out[threadIdx.x] = sum;
}

__global__ void lanes_part() {
  if (threadIdx.x % 2 == 0) {
    __shfl_xor_sync(~0u, 1, 2);
  } else {
    __syncwarp();
  }
}

__global__ void a_lane_outside_its_mask() { __shfl_xor_sync(0xffff, 1, 1); }

__global__ void reads_shared(float* out) {
  SEEKRL_SHARED(float, tile, 64);
  if (threadIdx.x > 0) tile[threadIdx.x] = 1;
  __syncthreads();
  *out = tile[0];
}

template <bool kWaits>
__global__ void copies(float* out, const float* in) {
  SEEKRL_DYNAMIC_SHARED(float, tile);
  copy_async_16(tile + threadIdx.x * 4, in + threadIdx.x * 4);
  copy_async_commit();
  if (kWaits) copy_async_wait<0>();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
  copy_async_wait<0>();
}

__global__ void copies_for_ever(const float* in) {
  SEEKRL_DYNAMIC_SHARED(float, tile);
  copy_async_16(tile, in);
  copy_async_commit();
}

__global__ void copies_askew(const float* in) {
  SEEKRL_DYNAMIC_SHARED(float, tile);
  copy_async_16(tile + 1, in);
}

__global__ void copies_what_changes(float* in) {
  SEEKRL_DYNAMIC_SHARED(float, tile);
  copy_async_16(tile, in);
  copy_async_commit();
  in[3] += 1;
  copy_async_wait<0>();
}

// A number of 16 bytes' worth of T at `first`.
template <class T>
__global__ void reads(float* out, const float* in, int first) {
  *reinterpret_cast<T*>(out) = *reinterpret_cast<const T*>(in + first);
}
template <class T>
__global__ void writes(float* out, const float* in, int first) {
  *reinterpret_cast<T*>(out + first) = *reinterpret_cast<const T*>(in);
}
__global__ void loads_8(float* out, const float* in, int first) {
  float values[8];
  load_8(values, in + first);
  store_8(out, values);
}
__global__ void stores_8(float* out, const float* in, int first) {
  float values[8];
  load_8(values, in);
  store_8(reinterpret_cast<Bf16*>(out + first), values);
}
__global__ void reads_pairs(float* out, const float* in, int first) {
  *out = *reinterpret_cast<const float*>(reinterpret_cast<const uint16_t*>(in) + first);
}
// Static shared memory is at a multiple of 16 bytes and of no more, whatever its type.
template <int kFirst>
__global__ void reads_shared_vector(float* out, const float*, int) {
  SEEKRL_SHARED(uint8_t, one, 3);
  SEEKRL_SHARED(float, tile, 16);
  one[0] = 1;
  for (int i = 0; i < 16; ++i) tile[i] = one[0];
  *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(tile + kFirst);
}

template <int kFloats>
__global__ void takes_shared(float* out) {
  SEEKRL_SHARED(float, tile, kFloats);
  SEEKRL_DYNAMIC_SHARED(float, more);
  more[threadIdx.x] = 1;
  tile[threadIdx.x] = more[threadIdx.x];
  out[threadIdx.x] = tile[threadIdx.x];
}

template <int kStride>
__global__ void loads_matrices(uint32_t* out) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, tile);
  uint32_t registers[4];
  load_matrices_x4(registers, tile + threadIdx.x % 16 * kStride);
  out[threadIdx.x] = registers[0];
}

// out [16, 8] = a [16, 16] b [16, 8] by the layout of mma.m16n8k16 in the PTX ISA: of lane l, rows l / 4 and l / 4 + 8,
// columns l % 4 * 2, the next, and both 8 further. A wrong one has two registers of a exchanged.
template <bool kIsWrong>
__global__ void multiplies(float* out, const uint16_t* a, const uint16_t* b) {
  const int lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
  const auto pair = [](uint16_t low, uint16_t high) { return low | uint32_t{high} << 16; };
  const auto of_a = [&](int r, int k) { return pair(a[r * 16 + k], a[r * 16 + k + 1]); };
  const auto of_b = [&](int k) { return pair(b[k * 8 + row], b[(k + 1) * 8 + row]); };
  const uint32_t upper = of_a(row + 8, column), right = of_a(row, column + 8);
  const uint32_t fragment[4] = {of_a(row, column), kIsWrong ? right : upper, kIsWrong ? upper : right,
                                of_a(row + 8, column + 8)};
  float sums[4] = {};
  mma_bf16(sums, fragment, of_b(column), of_b(column + 8));
  for (int i = 0; i < 4; ++i) out[(row + i / 2 * 8) * 8 + column + i % 2] = sums[i];
}

constexpr int kOrders = 3;

// Runs a kernel in each order of threads; how many of them leave a number other than `expected` among the first 32.
template <class Kernel>
int num_other(Kernel kernel, int num_threads, float expected_of_0, float step) {
  int num = 0;
  for (int order = 0; order < kOrders; ++order) {
    emulator::thread_order = order;
    float out[64] = {};
    EXPECT(fault_of(kernel, num_threads, static_cast<float*>(out)) == "");
    bool is_other = false;
    for (int i = 0; i < 32; ++i) is_other |= !(out[i] == expected_of_0 + step * static_cast<float>(i));
    num += is_other ? 1 : 0;
  }
  emulator::thread_order = 0;
  return num;
}

std::string fault_at(void (*kernel)(float*, const float*, int), int first) {
  alignas(16) float in[16] = {}, out[16] = {};
  return fault_of(kernel, 1, static_cast<float*>(out), static_cast<const float*>(in), first);
}

// Of a kernel that is whole at `good` and askew at `bad`.
bool finds_askew(void (*kernel)(float*, const float*, int), int good, int bad) {
  return fault_at(kernel, good) == "" && has(fault_at(kernel, bad), "misaligned");
}

}  // namespace

TEST("the emulator finds barriers that not all threads reach, or that they reach at different places") {
  EXPECT(has(fault_of(&some_skip_a_barrier, 64), "deadlock: of 64 threads 32 wait at a barrier"));
  EXPECT(has(fault_of(&barriers_part, 64), "different barriers"));
}

TEST("the emulator finds lanes that meet at different places, or that others wait for and that have ended") {
  int out[32];
  EXPECT(has(fault_of(&shuffles_part, 32, static_cast<int*>(out)), "different places"));
  EXPECT(has(fault_of(&a_lane_ends_early, 32, static_cast<int*>(out)), "31 for lanes"));
}

TEST("what is right in lockstep alone, side by side alone or one after the other alone is wrong in some order") {
  EXPECT(num_other(&in_lockstep<true>, 32, 31, -1) == 0);
  EXPECT(num_other(&in_lockstep<false>, 32, 31, -1) == kOrders);
  EXPECT(num_other(&side_by_side, 64, 1, 0) == kOrders);
  EXPECT(num_other(&overtakes, 64, 1, 0) > 0);
}

TEST("orders of threads are by warps or of all threads, at random, and the same each time") {
  const auto order_of = [](int order) {
    std::vector<int> out(256);
    int next = 0;
    emulator::thread_order = order;
    EXPECT(fault_of(&order_of_threads, 256, out.data(), &next) == "");
    emulator::thread_order = 0;
    return out;
  };
  const auto is_by_warps = [](const std::vector<int>& order) {
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] / 32 != order[i / 32 * 32] / 32) return false;
    }
    return true;
  };
  const std::vector<int> natural = order_of(0), side = order_of(1), warps = order_of(2);
  EXPECT(std::is_sorted(natural.begin(), natural.end()));
  EXPECT(!is_by_warps(side) && is_by_warps(warps) && warps[0] != warps[1] - 1 && warps != natural);
  EXPECT(std::vector<int>(warps.begin(), warps.begin() + 32) !=
         std::vector<int>(natural.begin(), natural.begin() + 32));
  EXPECT(side == order_of(1) && warps == order_of(2) && warps != order_of(4));
}

TEST("a local that nothing set is no number that a sum can hide") {
  float out[32];
  EXPECT(fault_of(&sums_unset, 32, static_cast<float*>(out)) == "");
#if defined(__GNUC__) && __GNUC__ >= 12
  for (const float each : out) EXPECT(!(each > 0 && each < 100));
#endif
}

TEST("an access at no multiple of its size is found, of vectors, of numbers and in shared memory") {
  EXPECT(finds_askew(&reads<uint4>, 4, 2));
  EXPECT(finds_askew(&reads<float4>, 8, 1));
  EXPECT(finds_askew(&reads<uint2>, 2, 1));
  EXPECT(finds_askew(&reads<float2>, 6, 3));
  EXPECT(finds_askew(&reads<double>, 2, 1));
  EXPECT(finds_askew(&writes<uint4>, 4, 1));
  EXPECT(finds_askew(&writes<float4>, 4, 3));
  EXPECT(finds_askew(&writes<float2>, 2, 1));
  EXPECT(finds_askew(&loads_8, 4, 2));
  EXPECT(finds_askew(&stores_8, 4, 1));
  EXPECT(finds_askew(&reads_pairs, 2, 1));
  EXPECT(fault_at(&reads_shared_vector<4>, 0) == "");
  EXPECT(has(fault_at(&reads_shared_vector<2>, 0), "misaligned"));
}

TEST("more shared memory than a block has, static and dynamic together, is refused, and the next launch is not") {
  float out[32];
  const auto fault_with = [&](void (*kernel)(float*), size_t num_bytes) {
    const Status status = launch(kernel, dim3(1), dim3(32), num_bytes, nullptr, static_cast<float*>(out));
    return std::string(status == nullptr ? "" : status);
  };
  EXPECT(fault_with(&takes_shared<32>, 40 << 10) == "");
  EXPECT(fault_with(&takes_shared<32>, 98 << 10) == "");
  EXPECT(fault_with(&takes_shared<32>, 48 << 10) == "");
  // On a GPU they are too many without asking; launch() asks for kernels with kMostStaticBytes.
  EXPECT(has(fault_with(&takes_shared<3000>, 40 << 10), "than was asked for"));
  EXPECT(has(fault_with(&takes_shared<3000>, 98 << 10), "than a block has"));
  EXPECT(has(fault_with(&takes_shared<32>, 100 << 10), "than a block has"));
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(fault_with(&takes_shared<32>, 1024) == "");
  // What one thread asked for is not taken back by another that asks for less.
  EXPECT(emulator::asked_bytes.of(reinterpret_cast<const void*>(&takes_shared<32>)) == 98 << 10);
}

TEST("a refusal stays behind until it is asked for, and a launch that was not asked for is refused") {
  const auto* const kernel = reinterpret_cast<const void*>(&takes_shared<16>);
  EXPECT(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10) != cudaSuccess);
  EXPECT(cudaGetLastError() != cudaSuccess);
  EXPECT(cudaGetLastError() == cudaSuccess);
  cudaLaunchConfig_t config;
  config.dynamicSmemBytes = 60 << 10;
  float out[1];
  EXPECT(cudaLaunchKernelEx(&config, &takes_shared<16>, static_cast<float*>(out)) != cudaSuccess);
  EXPECT(cudaGetLastError() != cudaSuccess);
}

TEST("the emulator finds lanes that meet in different collectives, or outside their mask") {
  EXPECT(has(fault_of(&lanes_part, 32), "different collectives"));
  EXPECT(has(fault_of(&a_lane_outside_its_mask, 32), "outside its mask"));
}

TEST("shared memory that nothing wrote is no number") {
  float out = 0;
  EXPECT(fault_of(&reads_shared, 64, &out) == "");
  EXPECT(std::isnan(out));
}

TEST("a copy lands when it is waited for and no sooner, and must be waited for") {
  alignas(16) float in[128], out[32];
  for (int i = 0; i < 128; ++i) in[i] = static_cast<float>(i);
  EXPECT(fault_of(&copies<true>, 32, out, static_cast<const float*>(in)) == "");
  EXPECT(out[31] == 31);
  EXPECT(fault_of(&copies<false>, 32, out, static_cast<const float*>(in)) == "");
  EXPECT(std::isnan(out[31]));
  EXPECT(has(fault_of(&copies_for_ever, 32, static_cast<const float*>(in)), "no wait has ended"));
  EXPECT(has(fault_of(&copies_what_changes, 1, static_cast<float*>(in)), "written before the wait"));
  EXPECT(has(fault_of(&copies_askew, 32, static_cast<const float*>(in)), "multiple of 16"));
}

TEST("rows of matrices in the same banks are counted") {
  uint32_t out[32];
  const int64_t before = emulator::counts.num_bank_conflicts;
  EXPECT(fault_of(&loads_matrices<24>, 32, out) == "");
  EXPECT(emulator::counts.num_bank_conflicts == before);
  EXPECT(fault_of(&loads_matrices<32>, 32, out) == "");
  EXPECT(emulator::counts.num_bank_conflicts == before + 4 * 3);
}

TEST("fragments of a product lie as the PTX ISA says, and a wrong one gives another product") {
  uint16_t a[16 * 16], b[16 * 8];
  float truth[16 * 8] = {}, out[16 * 8], wrong[16 * 8];
  const auto number_of = [](int i) { return static_cast<float>(i * 37 % 19 - 9); };
  const auto bits_of = [](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); };
  for (int i = 0; i < 16 * 16; ++i) a[i] = bits_of(number_of(i));
  for (int i = 0; i < 16 * 8; ++i) b[i] = bits_of(number_of(i + 1));
  for (int i = 0; i < 16 * 8; ++i) {
    for (int k = 0; k < 16; ++k) truth[i] += number_of(i / 8 * 16 + k) * number_of(k * 8 + i % 8 + 1);
  }
  const uint16_t *const left = a, *const right = b;
  EXPECT(fault_of(&multiplies<false>, 32, out, left, right) == "");
  EXPECT(std::memcmp(out, truth, sizeof(out)) == 0);
  EXPECT(fault_of(&multiplies<true>, 32, wrong, left, right) == "");
  EXPECT(std::memcmp(wrong, truth, sizeof(wrong)) != 0);
}
