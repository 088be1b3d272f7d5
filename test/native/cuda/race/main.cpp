// Runs the kernels' tests under ThreadSanitizer: a race between the threads of a block, or between blocks, fails.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "check.h"
#include "kernels/cuda/launch.h"

namespace {

std::atomic<int> num_races{0};

}  // namespace

// ThreadSanitizer's hooks, which its library looks up here.
extern "C" {
__attribute__((visibility("default"))) const char* __tsan_default_options() { return "exitcode=0:history_size=4"; }
__attribute__((visibility("default"))) void __tsan_on_report(void*) { ++num_races; }
}

namespace {

using namespace seekrl;
using namespace seekrl::cuda;

template <bool kHasBarrier>
__global__ void reverse(float* values) {
  SEEKRL_SHARED(float, tile, 32);
  tile[threadIdx.x] = values[threadIdx.x];
  if (kHasBarrier) __syncwarp();
  values[31 - threadIdx.x] = tile[threadIdx.x ^ 1];
}

template <bool kHasBarrier>
__global__ void loads(uint32_t* out) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, tile);
  for (int i = 0; i < 8; ++i) tile[threadIdx.x * 8 + i] = 1;
  if (kHasBarrier) __syncwarp();
  uint32_t registers[4];
  load_matrices_x4(registers, tile + threadIdx.x * 8);
  out[threadIdx.x] = registers[0];
}

__global__ void all_write(float* out) { *out = static_cast<float>(blockIdx.x); }

template <class... Parameters, class... Arguments>
int races_of(void (*kernel)(Parameters...), unsigned num_blocks, unsigned num_threads, Arguments... arguments) {
  const int before = num_races;
  emulator::thread_order = 1;
  EXPECT(launch(kernel, dim3(num_blocks), dim3(num_threads), 1024, nullptr, arguments...) == nullptr);
  emulator::thread_order = 0;
  return num_races - before;
}

// Whether races are found at all: between lanes, with what a matrix load reads, and between blocks.
bool finds_planted_races() {
  float values[32] = {}, written = 0;
  uint32_t out[32];
  const bool has_none = races_of(&loads<true>, 1, 32, out) == 0;
  return has_none && races_of(&reverse<false>, 1, 32, values) > 0 && races_of(&loads<false>, 1, 32, out) > 0 &&
         races_of(&all_write, 64, 1, &written) > 0;
}

}  // namespace

int main() {
  if (!finds_planted_races()) {
    std::printf("not ok - planted races are found\n");
    return 1;
  }
  int num_failed = 0;
  for (const test::Test& test : test::tests()) {
    const int before = num_races;
    test.body();
    if (num_races == before) continue;
    ++num_failed;
    std::printf("not ok - %d races in: %s\n", num_races - before, test.name);
  }
  return num_failed == 0 && test::num_failures() == 0 ? 0 : 1;
}
