// A GPU, through CUDA's run time.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>

#include "device.h"

namespace seekrl::bench {

namespace {

void require_cuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not answer with it again
  throw DeviceError(cudaGetErrorString(error));
}

const cudaDeviceProp& properties() {
  static const cudaDeviceProp found = [] {
    cudaDeviceProp p;
    require_cuda(cudaGetDeviceProperties(&p, 0));
    return p;
  }();
  return found;
}

cudaStream_t stream() {
  static cudaStream_t made = [] {
    cudaStream_t s;
    require_cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
  }();
  return made;
}

// Twice the second-level cache, written before each run.
struct Flush {
  Flush() : size(2 * static_cast<size_t>(std::max(properties().l2CacheSize, 1 << 20))) {
    require_cuda(cudaMalloc(&data, size));
  }
  void* data = nullptr;
  size_t size;
};

struct Timer {
  Timer() {
    require_cuda(cudaEventCreate(&start));
    require_cuda(cudaEventCreate(&end));
  }
  ~Timer() {
    cudaEventDestroy(start);
    cudaEventDestroy(end);
  }
  double microseconds(const Launch& run) {
    static const Flush flush;
    require_cuda(cudaMemsetAsync(flush.data, 1, flush.size, stream()));
    require_cuda(cudaEventRecord(start, stream()));
    require(run(stream()));
    require_cuda(cudaEventRecord(end, stream()));
    require_cuda(cudaEventSynchronize(end));
    float milliseconds = 0;
    require_cuda(cudaEventElapsedTime(&milliseconds, start, end));
    return 1e3 * milliseconds;
  }
  cudaEvent_t start, end;
};

// Runs for a quarter of a second at most, five times at least.
double median_of_runs(const Launch& run) {
  using Clock = std::chrono::steady_clock;
  Timer timer;
  for (int i = 0; i < 3; ++i) timer.microseconds(run);
  std::vector<double> times;
  const auto started = Clock::now();
  while (times.size() < 5 || (times.size() < 101 && Clock::now() - started < std::chrono::milliseconds(250))) {
    times.push_back(timer.microseconds(run));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

}  // namespace

bool is_gpu() { return true; }

std::string gpu_name() { return properties().name; }

std::string gpu_words() {
  const cudaDeviceProp& p = properties();
  int driver = 0, runtime = 0;
  require_cuda(cudaDriverGetVersion(&driver));
  require_cuda(cudaRuntimeGetVersion(&runtime));
  return std::string(p.name) + ", sm_" + std::to_string(p.major) + std::to_string(p.minor) + ", " +
         std::to_string(p.multiProcessorCount) + " processors, " + std::to_string(p.totalGlobalMem >> 20) +
         " MiB, driver for CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) +
         ", run time " + std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
}

int64_t num_processors() { return properties().multiProcessorCount; }

int64_t free_bytes() {
  size_t free = 0, total = 0;
  require_cuda(cudaMemGetInfo(&free, &total));
  return static_cast<int64_t>(free);
}

double median_microseconds(const Launch& run) { return median_of_runs(run); }

double copy_bytes_per_second() {
  constexpr int64_t kBytes = int64_t{1} << 30;
  Memory memory;
  void *const from = memory.bytes(kBytes), *const to = memory.bytes(kBytes);
  const double time = median_of_runs([&](void* on) {
    const cudaError_t error =
        cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(on));
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
  });
  return 2e6 * static_cast<double>(kBytes) / time;
}

void synchronise() { require_cuda(cudaDeviceSynchronize()); }

Memory::~Memory() {
  for (void* each : all_) cudaFree(each);
}

void* Memory::bytes(int64_t count) {
  void* to = nullptr;
  require_cuda(cudaMalloc(&to, static_cast<size_t>(std::max<int64_t>(count, 256))));
  all_.push_back(to);
  require_cuda(cudaMemset(to, 0, static_cast<size_t>(std::max<int64_t>(count, 256))));
  return to;
}

void Memory::write(void* to, const void* from, int64_t num_bytes) {
  require_cuda(cudaMemcpy(to, from, static_cast<size_t>(num_bytes), cudaMemcpyHostToDevice));
}

std::vector<uint8_t> read_back(const void* from, int64_t num_bytes) {
  std::vector<uint8_t> to(static_cast<size_t>(num_bytes));
  require_cuda(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost));
  return to;
}

}  // namespace seekrl::bench
