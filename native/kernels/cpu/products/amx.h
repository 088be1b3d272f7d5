// The matrix unit of processors with AMX (Intel, from Sapphire Rapids on): eight tiles of 16 rows of 64 bytes a thread.
// Intel's Architectures Software Developer's Manual, volume 1, chapter 18.
#pragma once

#include <cstdint>

namespace seekrl::kernels {

// Whether the processor has the unit and the system lets this process use it; asks the system once.
bool has_amx();

// The compiler's intrinsics take a tile's number only as a literal, templates do not have one.
struct AmxUnit {
  // Tiles 0, 1 and 4 have `top` rows, 2, 3 and 5 `bottom` ones, at most 16 each; 6 and 7 are whole.
  static void configure(int64_t top = 16, int64_t bottom = 16) {
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, unused[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } tiles;
    for (int tile = 0; tile < 8; ++tile) {
      const int64_t rows = tile > 5 ? 16 : tile == 4 || tile < 2 ? top : bottom;
      tiles.rows[tile] = static_cast<uint8_t>(rows);
      tiles.row_bytes[tile] = rows > 0 ? 64 : 0;
    }
    asm volatile("ldtilecfg %0" ::"m"(tiles));
  }

  // A thread that leaves its tiles in use makes the system save 8 KB with each change of threads.
  static void release() { asm volatile("tilerelease" ::); }

  template <int tile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(tile));
  }

  // stride: bytes between rows.
  template <int tile>
  static void load(const void* from, int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(tile) : "memory");
  }

  template <int tile>
  static void store(void* to, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(tile) : "memory");
  }

  // sums += rows * pairs, of bf16.
  template <int sums, int rows, int pairs>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(rows), "i"(pairs));
  }
};

}  // namespace seekrl::kernels
