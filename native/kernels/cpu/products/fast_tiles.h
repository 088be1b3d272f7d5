// pair_matmul in tiles of a matrix unit. `Unit` is the processor's (amx.h) or, in tests, its emulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/products/bf16.h"

namespace seekrl::kernels {

// A tile is 16 rows of 64 bytes: 16 x 16 sums, 16 rows of 32 values, or 16 pairs of rows with 16 columns each.
inline constexpr int64_t kTileSize = 16, kTileDepth = 32;

// What of a product one block of 2 x 2 tiles of sums covers.
struct TileBlock {
  const uint16_t* a;
  int64_t a_stride;
  Panel panel;
  int64_t rows, columns, k;  // rows and columns that exist, at most 32 each

  bool has_low_rows() const { return rows > kTileSize; }
  bool has_right_columns() const { return columns > kTileSize; }
};

// Tile `tile` <- rows of A from `row` on, values from i on; what does not exist is zero.
template <class Unit, int tile>
inline void load_rows(const TileBlock& of, int64_t row, int64_t i) {
  const uint16_t* from = of.a + row * of.a_stride + i;
  if (of.rows - row >= kTileSize && of.k - i >= kTileDepth) {
    return Unit::template load<tile>(from, of.a_stride * static_cast<int64_t>(sizeof(uint16_t)));
  }
  uint16_t part[kTileSize * kTileDepth] = {};
  const size_t size = static_cast<size_t>(std::min(kTileDepth, of.k - i)) * sizeof(uint16_t);
  for (int64_t r = 0; r < std::min(kTileSize, of.rows - row); ++r) {
    std::memcpy(part + r * kTileDepth, from + r * of.a_stride, size);
  }
  Unit::template load<tile>(part, kTileDepth * sizeof(uint16_t));
}

// Tile `tile` <- 16 columns of the panel from `column` on, pairs from i / 2 on.
template <class Unit, int tile>
inline void load_pairs(const TileBlock& of, int64_t column, int64_t i) {
  const int64_t stride = of.panel.pair_stride;
  const uint16_t* from = of.panel.data + column / kTileSize * of.panel.strip_stride + i / 2 * stride;
  if (of.k - i >= kTileDepth) return Unit::template load<tile>(from, stride * static_cast<int64_t>(sizeof(uint16_t)));
  uint16_t part[kTileSize * kTileDepth] = {};
  for (int64_t pair = 0; pair < (of.k - i) / 2; ++pair) {
    std::memcpy(part + pair * kTileDepth, from + pair * stride, kTileDepth * sizeof(uint16_t));
  }
  Unit::template load<tile>(part, kTileDepth * sizeof(uint16_t));
}

// Tile `tile` of sums <- zeros, or the elements of C that exist.
template <class Unit, int tile>
inline void start_sums(const float* c, int64_t c_stride, int64_t rows, int64_t columns, Start start) {
  if (start != Start::kSelf) return Unit::template zero<tile>();
  if (rows >= kTileSize && columns >= kTileSize) return Unit::template load<tile>(c, c_stride * sizeof(float));
  float part[kTileSize * kTileSize] = {};
  const size_t size = static_cast<size_t>(std::min(kTileSize, columns)) * sizeof(float);
  for (int64_t r = 0; r < std::min(kTileSize, rows); ++r) std::memcpy(part + r * kTileSize, c + r * c_stride, size);
  Unit::template load<tile>(part, kTileSize * sizeof(float));
}

template <class Unit, int tile>
inline void store_sums(float* c, int64_t c_stride, int64_t rows, int64_t columns) {
  if (rows >= kTileSize && columns >= kTileSize) return Unit::template store<tile>(c, c_stride * sizeof(float));
  float part[kTileSize * kTileSize];
  Unit::template store<tile>(part, kTileSize * sizeof(float));
  const size_t size = static_cast<size_t>(std::min(kTileSize, columns)) * sizeof(float);
  for (int64_t r = 0; r < std::min(kTileSize, rows); ++r) std::memcpy(c + r * c_stride, part + r * kTileSize, size);
}

// Runs body(tile number, first row, first column) for the tiles of sums that the block has.
template <class Body>
inline void for_sums(const TileBlock& of, const Body& body) {
  body(std::integral_constant<int, 0>(), 0, 0);
  if (of.has_right_columns()) body(std::integral_constant<int, 1>(), 0, kTileSize);
  if (!of.has_low_rows()) return;
  body(std::integral_constant<int, 2>(), kTileSize, 0);
  if (of.has_right_columns()) body(std::integral_constant<int, 3>(), kTileSize, kTileSize);
}

// Tiles 0 to 3 are sums, 4 and 5 rows of A, 6 and 7 columns of the panel.
template <class Unit>
inline void multiply_block(float* c, int64_t c_stride, const TileBlock& of, Start start) {
  for_sums(of, [&](auto tile, int64_t row, int64_t column) {
    start_sums<Unit, tile>(c + row * c_stride + column, c_stride, of.rows - row, of.columns - column, start);
  });
  for (int64_t i = 0; i < of.k; i += kTileDepth) {
    load_rows<Unit, 4>(of, 0, i);
    load_pairs<Unit, 6>(of, 0, i);
    Unit::template multiply<0, 4, 6>();
    if (of.has_right_columns()) {
      load_pairs<Unit, 7>(of, kTileSize, i);
      Unit::template multiply<1, 4, 7>();
    }
    if (!of.has_low_rows()) continue;
    load_rows<Unit, 5>(of, kTileSize, i);
    Unit::template multiply<2, 5, 6>();
    if (of.has_right_columns()) Unit::template multiply<3, 5, 7>();
  }
  for_sums(of, [&](auto tile, int64_t row, int64_t column) {
    store_sums<Unit, tile>(c + row * c_stride + column, c_stride, of.rows - row, of.columns - column);
  });
}

template <class Unit>
void tile_matmul(float* c_MN, int64_t c_stride, const ValueRows& a_MK, const Panel& panel, int64_t m, int64_t columns,
                 int64_t k, Start start) {
  constexpr int64_t kBlock = 2 * kTileSize;
  Unit::configure();
  for (int64_t row = 0; row < m; row += kBlock) {
    for (int64_t column = 0; column < columns; column += kBlock) {
      Panel part = panel;
      part.data += column / kTileSize * panel.strip_stride;
      const TileBlock block = {a_MK.data + row * a_MK.stride,
                               a_MK.stride,
                               part,
                               std::min(kBlock, m - row),
                               std::min(kBlock, columns - column),
                               k};
      multiply_block<Unit>(c_MN + row * c_stride + column, c_stride, block, start);
    }
  }
  Unit::release();
}

}  // namespace seekrl::kernels
