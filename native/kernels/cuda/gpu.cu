// Asked of the runtime at each call, which is a look-up.
#include "kernels/cuda/device.h"
#include "kernels/cuda/gpu.h"

namespace seekrl::cuda {

int64_t num_processors() {
#if defined(__CUDACC__)
  int device = 0, count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) return count;
  cudaGetLastError();  // so that it is not taken for the next call's
  return 1;
#else
  return 3;
#endif
}

}  // namespace seekrl::cuda
