// The counter-based random numbers of base/random.h on the GPU: the same words for the same seed, stream and index.
#pragma once

#include "kernels/cuda/device.h"

namespace seekrl::cuda {

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): the key is the seed, the counter (index, stream).
__device__ __forceinline__ uint4 philox(uint64_t seed, uint64_t stream, uint64_t index) {
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  uint4 counter{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(stream),
                static_cast<uint32_t>(stream >> 32)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter.x, product1 = uint64_t{0xCD9E8D57} * counter.z;
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter.y ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter.w ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// The 53 high bits of two words as a number in [0, 1).
__device__ __forceinline__ double uniform(uint64_t seed, uint64_t stream, uint64_t index) {
  const uint4 words = philox(seed, stream, index);
  return static_cast<double>((uint64_t{words.x} << 32 | words.y) >> 11) * 0x1p-53;
}

}  // namespace seekrl::cuda
