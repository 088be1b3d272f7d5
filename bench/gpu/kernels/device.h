// The GPU, or the emulator in its place: memory, numbers in it, and time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/status.h"

namespace seekrl::bench {

// What has no GPU, or too little memory, or was refused.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void require(const char* status) {
  if (status != nullptr) throw DeviceError(status);
}

using Launch = std::function<cuda::Status(void* stream)>;

bool is_gpu();
// Name, compute capability, processors, memory, driver: for the head of a page.
std::string gpu_words();
std::string gpu_name();
int64_t num_processors();
int64_t free_bytes();

// Microseconds of a run, the median of many, after runs that warm up; before each, twice the size of the second-level
// cache is written.
double median_microseconds(const Launch& run);
// Bytes read and written in a second by copying a GiB on the GPU.
double copy_bytes_per_second();
void synchronise();

// Memory of the GPU, released together.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  void* bytes(int64_t count);
  template <class Value>
  Value* empty(int64_t count) {
    return static_cast<Value*>(bytes(count * static_cast<int64_t>(sizeof(Value))));
  }
  // What nothing may leave as it is.
  void* poisoned(cuda::Dtype dtype, int64_t count);
  // Numbers in [offset - size, offset + size): the same for the same arguments and number of calls before, here and
  // there.
  void* numbers(cuda::Dtype dtype, int64_t count, float size = 1, float offset = 0);
  float* floats(int64_t count, float size = 1, float offset = 0) {
    return static_cast<float*>(numbers(cuda::Dtype::kFloat, count, size, offset));
  }
  void* halves(int64_t count, float size = 1) { return numbers(cuda::Dtype::kBf16, count, size); }
  uint8_t* codes(int64_t count);
  template <class Value>
  Value* copy_of(const std::vector<Value>& values) {
    Value* const to = empty<Value>(static_cast<int64_t>(values.size()));
    write(to, values.data(), static_cast<int64_t>(values.size() * sizeof(Value)));
    return to;
  }
  // From the host's memory.
  void write(void* to, const void* from, int64_t num_bytes);

 private:
  std::vector<void*> all_;
  uint64_t stream_ = 0;
};

std::vector<uint8_t> read_back(const void* from, int64_t num_bytes);

}  // namespace seekrl::bench
