// One launch, named by the argument, of kernels that write beyond their memory: under AddressSanitizer it ends the
// process.
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/cuda/launch.h"

using namespace seekrl;
using namespace seekrl::cuda;

namespace {

constexpr unsigned kThreads = 32;

__global__ void writes_global(float* out, unsigned first) { out[threadIdx.x + first] = 1; }

__global__ void writes_dynamic(unsigned first) {
  SEEKRL_DYNAMIC_SHARED(float, tile);
  tile[threadIdx.x + first] = 1;
}

__global__ void writes_static(unsigned first) {
  SEEKRL_SHARED(float, tile, kThreads);
  tile[threadIdx.x + first] = 1;
}

// The last thread's write is the first beyond.
Status run(const char* name) {
  const unsigned first = std::strncmp(name, "beyond-", 7) == 0 ? 1 : 0;
  const char* const memory = std::strchr(name, '-') + 1;
  std::vector<float> out(kThreads);
  if (std::strcmp(memory, "global") == 0) {
    return launch(&writes_global, dim3(1), dim3(kThreads), 0, nullptr, out.data(), first);
  }
  if (std::strcmp(memory, "dynamic") == 0) {
    return launch(&writes_dynamic, dim3(1), dim3(kThreads), kThreads * sizeof(float), nullptr, first);
  }
  return launch(&writes_static, dim3(1), dim3(kThreads), 0, nullptr, first);
}

}  // namespace

int main(int, char** argv) {
  const Status status = run(argv[1]);
  std::puts(status == nullptr ? "launched" : status);
  return status == nullptr ? 0 : 1;
}
