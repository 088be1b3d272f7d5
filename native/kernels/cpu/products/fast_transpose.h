// Transposition of rows into lanes, which turns dot products along rows into sums across them.
#pragma once

#include "kernels/cpu/lanes.h"

namespace seekrl::kernels::SEEKRL_ISA {

#if defined(__AVX512F__)

// x[r] holds row r; afterwards x[c] holds column c.
inline void transpose_16x16(__m512 (&x)[16]) {
  __m512 y[16];
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(y[i]), _mm512_castps_pd(y[i + 2])));
    x[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(y[i]), _mm512_castps_pd(y[i + 2])));
    x[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(y[i + 1]), _mm512_castps_pd(y[i + 3])));
    x[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(y[i + 1]), _mm512_castps_pd(y[i + 3])));
  }
  // Now x[4 q + c] holds, in its 128-bit part p, column 4 p + c of rows 4 q to 4 q + 3.
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_f32x4(x[i + 8], x[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0x88);
    x[i + 4] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 8] = _mm512_shuffle_f32x4(y[i], y[i + 8], 0xdd);
    x[i + 12] = _mm512_shuffle_f32x4(y[i + 4], y[i + 12], 0xdd);
  }
}

// to[c * to_stride + r] = rows[r][column + c] for c < count <= 16; lanes from num_rows to 16 become zero.
inline void transpose_block(float* to, int64_t to_stride, const float* const* rows, int64_t num_rows, int64_t column,
                            int64_t count) {
  __m512 x[16];
  if (num_rows == 16 && count == 16) {
    // Constant bounds keep the block in registers.
    for (int r = 0; r < 16; ++r) x[r] = _mm512_loadu_ps(rows[r] + column);
    transpose_16x16(x);
    for (int c = 0; c < 16; ++c) _mm512_storeu_ps(to + c * to_stride, x[c]);
    return;
  }
  const __mmask16 mask = first_lanes(count);
  for (int r = 0; r < 16; ++r) {
    x[r] = r < num_rows ? _mm512_maskz_loadu_ps(mask, rows[r] + column) : _mm512_setzero_ps();
  }
  transpose_16x16(x);
  for (int64_t c = 0; c < count; ++c) _mm512_storeu_ps(to + c * to_stride, x[c]);
}

#else

inline void transpose_8x8(__m256 (&x)[8]) {
  __m256 y[8];
  for (int i = 0; i < 8; i += 2) {
    y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    x[i] = _mm256_shuffle_ps(y[i], y[i + 2], 0x44);
    x[i + 1] = _mm256_shuffle_ps(y[i], y[i + 2], 0xee);
    x[i + 2] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0x44);
    x[i + 3] = _mm256_shuffle_ps(y[i + 1], y[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x20);
    y[i + 4] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x31);
  }
  for (int i = 0; i < 8; ++i) x[i] = y[i];
}

inline void transpose_block(float* to, int64_t to_stride, const float* const* rows, int64_t num_rows, int64_t column,
                            int64_t count) {
  for (int64_t first_row = 0; first_row < 16; first_row += 8) {
    for (int64_t first = 0; first < count; first += 8) {
      float* block = to + first * to_stride + first_row;
      __m256 x[8];
      if (first_row + 8 <= num_rows && first + 8 <= count) {
        // Constant bounds keep the block in registers.
        for (int r = 0; r < 8; ++r) x[r] = _mm256_loadu_ps(rows[first_row + r] + column + first);
        transpose_8x8(x);
        for (int c = 0; c < 8; ++c) _mm256_storeu_ps(block + c * to_stride, x[c]);
        continue;
      }
      const __m256i mask = first_lanes(count - first);
      for (int r = 0; r < 8; ++r) {
        const bool exists = first_row + r < num_rows;
        x[r] = exists ? _mm256_maskload_ps(rows[first_row + r] + column + first, mask) : _mm256_setzero_ps();
      }
      transpose_8x8(x);
      const int64_t end = count - first < 8 ? count - first : 8;
      for (int64_t c = 0; c < end; ++c) _mm256_storeu_ps(block + c * to_stride, x[c]);
    }
  }
}

#endif

// to[c * to_stride + r] = rows[r][c] for c < count; lanes from num_rows to 16 become zero.
inline void transpose_rows(float* to, int64_t to_stride, const float* const* rows, int64_t num_rows, int64_t count) {
  for (int64_t column = 0; column < count; column += kLanes) {
    const int64_t block = count - column < kLanes ? count - column : kLanes;
    transpose_block(to + column * to_stride, to_stride, rows, num_rows, column, block);
  }
}

inline void transpose(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t m, int64_t n) {
  for (int64_t first = 0; first < m; first += kLanes) {
    const float* rows[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) rows[r] = from + (first + r) * from_stride;
    transpose_rows(to + first, to_stride, rows, m - first < kLanes ? m - first : kLanes, n);
  }
}

}  // namespace seekrl::kernels::SEEKRL_ISA
