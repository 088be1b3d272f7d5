// Captures and replays CUDA graphs in pools of libtorch's allocator.
//
// at::cuda::CUDAGraph would do as much, save that it leaves the allocator in the middle of a capture that CUDA has made
// invalid. Of the allocator virtual functions alone are called, so that nothing of libtorch's CUDA libraries is linked;
// where they stand in its table is what the headers say, which is why Library::torch is compared.
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <string>

#include "graphs/graphs.h"

namespace seekrl::graphs {

namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

// Takes the error along, so that no later call is told of it.
void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  const std::string said = std::string("CUDA graph: ") + cudaGetErrorString(error);
  TORCH_CHECK_WITH(OutOfMemoryError, error != cudaErrorMemoryAllocation, said);
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, error, said);
}

CUDAAllocator& allocator() { return static_cast<CUDAAllocator&>(*c10::getDeviceAllocator(c10::DeviceType::CUDA)); }

// libtorch gives pools of its own small numbers.
c10::MempoolId_t id_of(uint64_t pool) { return {0, (uint64_t{1} << 62) + pool}; }

// Older libtorch has neither function: its allocator recognises captures by pool.
template <class Allocator>
void mark_begin(Allocator& allocator, int8_t device) {
  if constexpr (requires { allocator.markCaptureBegin(device); }) allocator.markCaptureBegin(device);
}
template <class Allocator>
void mark_end(Allocator& allocator, int8_t device) {
  if constexpr (requires { allocator.markCaptureEnd(device); }) allocator.markCaptureEnd(device);
}

void begin_pool(int8_t device, uint64_t pool, void* stream) {
  allocator().beginAllocateToPool(device, id_of(pool), [stream](cudaStream_t asking) { return asking == stream; });
}

// The allocator refuses these two for a pool that it does not know, of which there is nothing to end.
void end_pool(int8_t device, uint64_t pool) {
  try {
    allocator().endAllocateToPool(device, id_of(pool));
  } catch (const c10::Error&) {
  }
}
void release_pool(int8_t device, uint64_t pool) {
  try {
    allocator().releasePool(device, id_of(pool));
  } catch (const c10::Error&) {
  }
}

// Of this thread alone: others may ask the GPU for anything meanwhile.
void begin_capture(int8_t device, void* stream) {
  check(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal));
  mark_begin(allocator(), device);
}

void* end_capture(int8_t device, void* stream) {
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
  mark_end(allocator(), device);
  check(ended);
  TORCH_CHECK(graph != nullptr, "CUDA graph: the capture is invalid");
  // The flag is for PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync, whose memory each launch takes again.
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiateWithFlags(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  cudaGraphDestroy(graph);
  check(made);
  return executable;
}

void replay(void* graph, void* stream) {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
}

void destroy(void* graph) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)); }

}  // namespace

}  // namespace seekrl::graphs

extern "C" const seekrl::graphs::Library* seekrl_graphs() {
  using namespace seekrl::graphs;
  static const Library library = {sizeof(Library), TORCH_VERSION, &begin_pool, &end_pool, &release_pool,
                                  &begin_capture,  &end_capture,  &replay,     &destroy};
  return &library;
}
