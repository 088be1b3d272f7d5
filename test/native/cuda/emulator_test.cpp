// What the emulator must find: each kernel here has a fault that a GPU may let pass.
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

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

}  // namespace

TEST("the emulator finds barriers that not all threads reach") {
  EXPECT(has(fault_of(&some_skip_a_barrier, 64), "deadlock"));
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
