// Four independent lanes of multiply and shift, 32 bytes a step.
#include "search/checksum.h"

#include <algorithm>
#include <cstring>

namespace seekrl::search {

void Checksum::add_block(const std::byte* block) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    uint64_t word;
    std::memcpy(&word, block + 8 * i, 8);
    const uint64_t lane = (lanes_[i] ^ word) * 0x9e3779b97f4a7c15u;
    lanes_[i] = lane ^ (lane >> 29);
  }
}

void Checksum::add(const void* data, size_t num_bytes) {
  auto* bytes = static_cast<const std::byte*>(data);
  num_bytes_ += num_bytes;
  if (num_tail_ > 0) {
    const size_t num_taken = std::min(num_bytes, kBlockBytes - num_tail_);
    std::memcpy(tail_.data() + num_tail_, bytes, num_taken);
    num_tail_ += num_taken;
    bytes += num_taken;
    num_bytes -= num_taken;
    if (num_tail_ < kBlockBytes) return;
    add_block(tail_.data());
    num_tail_ = 0;
  }
  for (; num_bytes >= kBlockBytes; num_bytes -= kBlockBytes, bytes += kBlockBytes) add_block(bytes);
  if (num_bytes > 0) std::memcpy(tail_.data(), bytes, num_bytes);
  num_tail_ = num_bytes;
}

uint64_t Checksum::value() const {
  Checksum last = *this;
  if (num_tail_ > 0) {
    std::fill(last.tail_.begin() + static_cast<ptrdiff_t>(num_tail_), last.tail_.end(), std::byte{0});
    last.add_block(last.tail_.data());
  }
  uint64_t value = num_bytes_;
  for (const uint64_t lane : last.lanes_) value = mix(value ^ lane);
  return value;
}

}  // namespace seekrl::search
