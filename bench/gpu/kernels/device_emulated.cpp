// The emulator in place of a GPU: the host's memory, and no time that would mean anything.
#include <cstdlib>
#include <cstring>

#include "device.h"

namespace seekrl::bench {

bool is_gpu() { return false; }
std::string gpu_words() { return "no GPU: the kernels run in the emulator"; }
std::string gpu_name() { return "no GPU"; }
int64_t num_processors() { return 2; }
int64_t free_bytes() { return int64_t{1} << 30; }

double median_microseconds(const Launch& run) {
  require(run(nullptr));
  return 0;
}
double copy_bytes_per_second() { return 0; }
void synchronise() {}

Memory::~Memory() {
  for (void* each : all_) std::free(each);
}

void* Memory::bytes(int64_t count) {
  void* const to = std::aligned_alloc(256, (static_cast<size_t>(count) + 511) / 256 * 256);
  if (to == nullptr) throw DeviceError("no memory");
  all_.push_back(to);
  std::memset(to, 0, static_cast<size_t>(count));
  return to;
}
void Memory::write(void* to, const void* from, int64_t num_bytes) {
  std::memcpy(to, from, static_cast<size_t>(num_bytes));
}

std::vector<uint8_t> read_back(const void* from, int64_t num_bytes) {
  const auto* const bytes = static_cast<const uint8_t*>(from);
  return {bytes, bytes + num_bytes};
}

}  // namespace seekrl::bench
