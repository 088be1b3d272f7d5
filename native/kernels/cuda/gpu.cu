// Asked of the runtime at each call, which is a look-up.
#include "kernels/cuda/device.h"
#include "kernels/cuda/gpu.h"

namespace seekrl::cuda {

int64_t num_processors() {
#if defined(__CUDACC__)
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 1;
  return cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) == cudaSuccess ? count : 1;
#else
  return 3;
#endif
}

}  // namespace seekrl::cuda
