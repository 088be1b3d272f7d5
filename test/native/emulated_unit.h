// A matrix unit with AMX's tiles and AMX's order of sums, for processors without one.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/products/bf16.h"

namespace seekrl::test {

struct EmulatedUnit {
  static constexpr int64_t kRows = 16, kRowBytes = 64;
  alignas(64) inline static uint8_t tiles[8][kRows * kRowBytes];

  // Rows of each tile, as in kernels::AmxUnit.
  inline static int64_t rows[8] = {16, 16, 16, 16, 16, 16, 16, 16};

  static void configure(int64_t top = kRows, int64_t bottom = kRows) {
    for (int tile = 0; tile < 8; ++tile) rows[tile] = tile > 5 ? kRows : tile == 4 || tile < 2 ? top : bottom;
  }
  static void release() {}

  template <int tile>
  static void zero() {
    std::memset(tiles[tile], 0, sizeof(tiles[tile]));
  }

  template <int tile>
  static void load(const void* from, int64_t stride) {
    for (int64_t r = 0; r < rows[tile]; ++r) {
      std::memcpy(tiles[tile] + r * kRowBytes, static_cast<const uint8_t*>(from) + r * stride, kRowBytes);
    }
  }

  template <int tile>
  static void store(void* to, int64_t stride) {
    for (int64_t r = 0; r < rows[tile]; ++r) {
      std::memcpy(static_cast<uint8_t*>(to) + r * stride, tiles[tile] + r * kRowBytes, kRowBytes);
    }
  }

  // TDPBF16PS in the Software Developer's Manual, volume 2: even and odd products apart, joined at the end.
  template <int sums, int factors, int pairs>
  static void multiply() {
    auto* c = reinterpret_cast<float*>(tiles[sums]);
    const auto* a = reinterpret_cast<const uint16_t*>(tiles[factors]);
    const auto* b = reinterpret_cast<const uint16_t*>(tiles[pairs]);
    for (int64_t row = 0; row < rows[sums]; ++row) {
      for (int64_t column = 0; column < 16; ++column) {
        float parts[2] = {};
        for (int64_t i = 0; i < 32; ++i) {
          const float x = kernels::from_bf16(a[row * 32 + i]);
          parts[i % 2] = std::fma(x, kernels::from_bf16(b[i / 2 * 32 + column * 2 + i % 2]), parts[i % 2]);
        }
        c[row * 16 + column] += parts[0] + parts[1];
      }
    }
  }
};

}  // namespace seekrl::test
