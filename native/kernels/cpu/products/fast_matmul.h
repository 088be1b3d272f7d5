// The matrix product in register tiles: lanes along N, one broadcast of A for each row, k innermost and in order.
#pragma once

#include "kernels/cpu/products/fast_transpose.h"
#include "kernels/products/matmul.h"

namespace seekrl::kernels::SEEKRL_ISA {

inline constexpr int64_t kTileRows = 6;
inline constexpr int64_t kPanelDepth = 128;  // 32 KB of B: stays in the first-level cache

// What a tile works on; the pointers are at its first element.
struct Tile {
  float* c;
  int64_t c_stride;
  const float* start;  // null: zero
  int64_t start_stride;
  const float* a;
  int64_t a_row_stride, a_column_stride;
  const float* b;
  int64_t b_stride;
  int64_t k;
  int64_t last;  // columns of the last vector, 1 to 16
};

// Part p of kParts, of which those of the last vector have `last` columns together.
template <int kParts, bool kFull>
inline Part load_part_of(const float* from, int p, int64_t last) {
  const float* part = from + p * kPartLanes;
  const int before = p - (kParts - kLaneParts);
  return kFull || before < 0 ? load_part(part) : load_first_part(part, last - before * kPartLanes);
}

template <int kRows, int kVectors, bool kFull>
void multiply_tile(const Tile& tile) {
  constexpr int kParts = kVectors * kLaneParts;
  Part sums[kRows][kParts];
  for (int r = 0; r < kRows; ++r) {
    const float* start = tile.start + r * tile.start_stride;
    for (int p = 0; p < kParts; ++p) {
      sums[r][p] = tile.start == nullptr ? broadcast_part(0) : load_part_of<kParts, kFull>(start, p, tile.last);
    }
  }
  for (int64_t i = 0; i < tile.k; ++i) {
    const float* b_row = tile.b + i * tile.b_stride;
    Part b[kParts];
    for (int p = 0; p < kParts; ++p) b[p] = load_part_of<kParts, kFull>(b_row, p, tile.last);
    const float* a = tile.a + i * tile.a_column_stride;
    for (int r = 0; r < kRows; ++r) {
      const Part factor = broadcast_part(a[r * tile.a_row_stride]);
      for (int p = 0; p < kParts; ++p) sums[r][p] = fma(factor, b[p], sums[r][p]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* c = tile.c + r * tile.c_stride;
    for (int p = 0; p < kParts; ++p) {
      const int before = p - (kParts - kLaneParts);
      if (kFull || before < 0) {
        store(c + p * kPartLanes, sums[r][p]);
      } else {
        store_first(c + p * kPartLanes, sums[r][p], tile.last - before * kPartLanes);
      }
    }
  }
}

template <int kVectors, bool kFull>
void multiply_rows(const Tile& tile, int64_t rows) {
  switch (rows) {
    case 1: return multiply_tile<1, kVectors, kFull>(tile);
    case 2: return multiply_tile<2, kVectors, kFull>(tile);
    case 3: return multiply_tile<3, kVectors, kFull>(tile);
    case 4: return multiply_tile<4, kVectors, kFull>(tile);
    case 5: return multiply_tile<5, kVectors, kFull>(tile);
    default: return multiply_tile<6, kVectors, kFull>(tile);
  }
}

inline void multiply_vectors(const Tile& tile, int64_t rows, int64_t vectors) {
  const bool is_full = tile.last == kLanes;
#if defined(__AVX512F__)
  switch (vectors) {
    case 1: return is_full ? multiply_rows<1, true>(tile, rows) : multiply_rows<1, false>(tile, rows);
    case 2: return is_full ? multiply_rows<2, true>(tile, rows) : multiply_rows<2, false>(tile, rows);
    case 3: return is_full ? multiply_rows<3, true>(tile, rows) : multiply_rows<3, false>(tile, rows);
    default: return is_full ? multiply_rows<4, true>(tile, rows) : multiply_rows<4, false>(tile, rows);
  }
#else
  (void)vectors;
  return is_full ? multiply_rows<1, true>(tile, rows) : multiply_rows<1, false>(tile, rows);
#endif
}

// C = start + A B with B's rows contiguous, no packing. `start` null: zero.
inline void multiply(float* c, int64_t c_stride, const float* start, int64_t start_stride, const MatrixView& a,
                     const float* b, int64_t b_stride, int64_t m, int64_t n, int64_t k) {
  for (int64_t column = 0; column < n; column += kTileVectors * kLanes) {
    const int64_t columns = n - column < kTileVectors * kLanes ? n - column : kTileVectors * kLanes;
    const int64_t vectors = (columns + kLanes - 1) / kLanes;
    for (int64_t row = 0; row < m; row += kTileRows) {
      const Tile tile = {c + row * c_stride + column,
                         c_stride,
                         start == nullptr ? nullptr : start + row * start_stride + column,
                         start_stride,
                         a.data + row * a.row_stride,
                         a.row_stride,
                         a.column_stride,
                         b + column,
                         b_stride,
                         k,
                         columns - (vectors - 1) * kLanes};
      multiply_vectors(tile, m - row < kTileRows ? m - row : kTileRows, vectors);
    }
  }
}

// Copies rows [0, depth) and columns [0, columns) of B to `panel`, 64 floats a row; columns up to the next multiple
// of 16 become zero.
inline void pack_panel(float* panel, const MatrixView& b, int64_t depth, int64_t columns) {
  for (int64_t column = 0; column < columns; column += kLanes) {
    const int64_t count = columns - column < kLanes ? columns - column : kLanes;
    if (b.column_stride == 1) {
      for (int64_t i = 0; i < depth; ++i) {
        store(panel + i * kPanelColumns + column, load_first(b.data + i * b.row_stride + column, count));
      }
      continue;
    }
    const float* rows[kLanes];
    for (int64_t r = 0; r < count; ++r) rows[r] = b.data + (column + r) * b.column_stride;
    transpose_rows(panel + column, kPanelColumns, rows, count, depth);
  }
}

// At most this many rows do not repay a packed panel: they are bound by reading B.
inline constexpr int64_t kFewRows = 8;

// The next 16 columns are called into the second-level cache: so many streams are more than a processor sees coming.
inline void call_columns(const MatrixView& b, int64_t first) {
  for (int64_t column = kLanes; column < 2 * kLanes; ++column) {
    _mm_prefetch(reinterpret_cast<const char*>(b.data + column * b.column_stride + first), _MM_HINT_T1);
  }
}

template <int kRows>
inline void add_column(Lanes (&sums)[kRows], const float* a_column, const MatrixView& a, const float* b_row) {
  const Lanes b = load(b_row);
  for (int r = 0; r < kRows; ++r) sums[r] = fma(broadcast(a_column[r * a.row_stride]), b, sums[r]);
}

// Up to 16 columns of C for a few rows, B's columns contiguous in memory: 16 x 16 blocks of B are transposed and used
// at once.
template <int kRows>
void multiply_few(float* c, int64_t c_stride, const float* start, int64_t start_stride, const MatrixView& a,
                  const MatrixView& b, int64_t columns, int64_t k) {
  const float* rows[kLanes];
  for (int64_t r = 0; r < columns; ++r) rows[r] = b.data + r * b.column_stride;
  Lanes sums[kRows];
  for (int r = 0; r < kRows; ++r) {
    sums[r] = start == nullptr ? zeros() : load_first(start + r * start_stride, columns);
  }
  alignas(64) float block[kLanes * kLanes];
  for (int64_t first = 0; first < k; first += kLanes) {
    const int64_t count = k - first < kLanes ? k - first : kLanes;
    call_columns(b, first);
    transpose_block(block, kLanes, rows, columns, first, count);
    const float* a_block = a.data + first * a.column_stride;
    if (count == kLanes) {
      for (int64_t i = 0; i < kLanes; ++i)
        add_column<kRows>(sums, a_block + i * a.column_stride, a, block + i * kLanes);
    } else {
      for (int64_t i = 0; i < count; ++i) add_column<kRows>(sums, a_block + i * a.column_stride, a, block + i * kLanes);
    }
  }
  for (int r = 0; r < kRows; ++r) store_first(c + r * c_stride, sums[r], columns);
}

inline void matmul_few(float* c_MN, int64_t c_stride, const float* start, int64_t start_stride, const MatrixView& a,
                       const MatrixView& b_KN, int64_t m, int64_t n, int64_t k) {
  for (int64_t column = 0; column < n; column += kLanes) {
    const int64_t columns = n - column < kLanes ? n - column : kLanes;
    const MatrixView b = {b_KN.data + column * b_KN.column_stride, b_KN.row_stride, b_KN.column_stride};
    const float* from = start == nullptr ? nullptr : start + column;
    switch (m) {
      case 1: multiply_few<1>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      case 2: multiply_few<2>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      case 3: multiply_few<3>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      case 4: multiply_few<4>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      case 5: multiply_few<5>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      case 6: multiply_few<6>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      case 7: multiply_few<7>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
      default: multiply_few<8>(c_MN + column, c_stride, from, start_stride, a, b, columns, k); break;
    }
  }
}

inline void matmul(float* c_MN, int64_t c_stride, const MatrixView& a_MK, const MatrixView& b_KN, int64_t m, int64_t n,
                   int64_t k, Start start, const float* bias_N, float* scratch) {
  if (m <= kFewRows && b_KN.row_stride == 1) {
    const float* from = start == Start::kZero ? nullptr : start == Start::kBias ? bias_N : c_MN;
    return matmul_few(c_MN, c_stride, from, start == Start::kSelf ? c_stride : 0, a_MK, b_KN, m, n, k);
  }
  float* panel = scratch;
  for (int64_t column = 0; column < n; column += kPanelColumns) {
    const int64_t columns = n - column < kPanelColumns ? n - column : kPanelColumns;
    float* c = c_MN + column;
    for (int64_t first = 0; first == 0 || first < k; first += kPanelDepth) {
      const int64_t depth = k - first < kPanelDepth ? k - first : kPanelDepth;
      const MatrixView b = {b_KN.data + first * b_KN.row_stride + column * b_KN.column_stride, b_KN.row_stride,
                            b_KN.column_stride};
      const MatrixView a = {a_MK.data + first * a_MK.column_stride, a_MK.row_stride, a_MK.column_stride};
      const bool is_continued = first > 0 || start == Start::kSelf;
      const float* from = is_continued ? c : start == Start::kBias ? bias_N + column : nullptr;
      pack_panel(panel, b, depth, columns);
      multiply(c, c_stride, from, is_continued ? c_stride : 0, a, panel, kPanelColumns, m, columns, depth);
    }
  }
}

inline void packed_matmul(float* c_MN, int64_t c_stride, const float* a_MK, int64_t a_stride, const float* panel,
                          int64_t m, int64_t columns, int64_t k, const float* bias_N) {
  for (int64_t first = 0; first == 0 || first < k; first += kPanelDepth) {
    const int64_t depth = k - first < kPanelDepth ? k - first : kPanelDepth;
    multiply(c_MN, c_stride, first > 0 ? c_MN : bias_N, first > 0 ? c_stride : 0, {a_MK + first, a_stride, 1},
             panel + first * kPanelColumns, kPanelColumns, m, columns, depth);
  }
}

}  // namespace seekrl::kernels::SEEKRL_ISA
