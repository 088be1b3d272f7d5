// What the emulator must find: each kernel here has a fault that a GPU may let pass.
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
