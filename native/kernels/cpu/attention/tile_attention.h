// Both products of attention over paired keys and values in tiles of a matrix unit, which reads them as they lie.
// `Unit` is the processor's (products/amx.h) or, in tests, its emulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/attention.h"
#include "kernels/cpu/products/fast_tiles.h"

namespace seekrl::kernels {

// Rows that one call of these takes: two tiles of them.
inline constexpr int64_t kRowsOfTiles = 2 * kTileSize;

// As many rows as there are, in tiles 0, 1 and 4, and from the 17th on in tiles 2, 3 and 5.
template <class Unit>
inline void configure_rows(int64_t rows) {
  Unit::configure(std::min(rows, kTileSize), std::max<int64_t>(rows - kTileSize, 0));
}

// Tiles of sums += tiles 4 and 5 times tile 6 and, where there are two, tile 7.
template <class Unit>
inline void multiply_tiles(bool has_bottom, bool has_right) {
  Unit::template multiply<0, 4, 6>();
  if (has_right) Unit::template multiply<1, 4, 7>();
  if (!has_bottom) return;
  Unit::template multiply<2, 5, 6>();
  if (has_right) Unit::template multiply<3, 5, 7>();
}

template <class Unit>
inline void zero_sums(bool has_bottom) {
  Unit::template zero<0>();
  Unit::template zero<1>();
  if (!has_bottom) return;
  Unit::template zero<2>();
  Unit::template zero<3>();
}

// Rows of A, `stride` values apart.
template <class Unit>
inline void load_both_rows(const uint16_t* rows, int64_t stride, bool has_bottom) {
  const auto row_bytes = stride * static_cast<int64_t>(sizeof(uint16_t));
  Unit::template load<4>(rows, row_bytes);
  if (has_bottom) Unit::template load<5>(rows + kTileSize * stride, row_bytes);
}

template <class Unit>
inline void store_both_rows(float* to, int64_t stride, bool has_bottom) {
  const auto row_bytes = stride * static_cast<int64_t>(sizeof(float));
  Unit::template store<0>(to, row_bytes);
  Unit::template store<1>(to + kTileSize, row_bytes);
  if (!has_bottom) return;
  Unit::template store<2>(to + kTileSize * stride, row_bytes);
  Unit::template store<3>(to + kTileSize * stride + kTileSize, row_bytes);
}

// scores[r][j] = scale q_r . k_j for up to 32 rows and the tokens j of every group of 16 that has one of [first, end).
// C is a multiple of 32.
template <class Unit>
void score_tokens(float* scores, int64_t stride, const uint16_t* query, int64_t rows, const PairedKeyValues& source,
                  int64_t first, int64_t end, int64_t head_dim, float scale) {
  const bool has_bottom = rows > kTileSize;
  const int64_t pair_stride = 2 * source.block_tokens;
  const auto pair_bytes = pair_stride * static_cast<int64_t>(sizeof(uint16_t));
  const auto keys_of_group = [&](int64_t token) {
    return source.keys + source.block_offset(token) + token % source.block_tokens * 2;
  };
  alignas(64) float sums[kRowsOfTiles * kRowsOfTiles];
  configure_rows<Unit>(rows);
  for (int64_t token = first / kTileSize * kTileSize; token < end; token += kRowsOfTiles) {
    const bool has_right = token + kTileSize < end;
    const uint16_t* const left = keys_of_group(token);
    const uint16_t* const right = has_right ? keys_of_group(token + kTileSize) : left;
    zero_sums<Unit>(has_bottom);
    for (int64_t c = 0; c < head_dim; c += kTileDepth) {
      load_both_rows<Unit>(query + c, head_dim, has_bottom);
      Unit::template load<6>(left + c / 2 * pair_stride, pair_bytes);
      if (has_right) Unit::template load<7>(right + c / 2 * pair_stride, pair_bytes);
      multiply_tiles<Unit>(has_bottom, has_right);
    }
    store_both_rows<Unit>(sums, kRowsOfTiles, has_bottom);
    const int64_t columns = has_right ? kRowsOfTiles : kTileSize;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < columns; ++j) scores[r * stride + token + j] = sums[r * kRowsOfTiles + j] * scale;
    }
  }
}

// Tokens [first, end), both even, whose values are numbers.
struct KnownTokens {
  int64_t first, end;
};

// 16 pairs of tokens, from an even one on, with 32 channels each. What is not known is zero.
inline void copy_values(uint16_t* part, const PairedKeyValues& source, const KnownTokens& known, int64_t token,
                        int64_t head_dim, int64_t channel) {
  for (int64_t i = 0; i < kTileDepth; i += 2, part += 2 * kRowsOfTiles) {
    const int64_t at = token + i;
    if (at < known.first || at >= known.end) {
      std::memset(part, 0, 2 * kRowsOfTiles * sizeof(uint16_t));
      continue;
    }
    const int64_t offset = source.block_offset(at) + at % source.block_tokens * head_dim;
    std::memcpy(part, source.values + offset + 2 * channel, 2 * kRowsOfTiles * sizeof(uint16_t));
  }
}

// mixed[r] = sum of weights[r][j] v_j for up to 32 rows and the tokens j of every group of 32 that has one of [first,
// end); weights of tokens that are not known are zero. C is a multiple of 32.
template <class Unit>
void mix_tokens(float* mixed, int64_t width, const uint16_t* weights, int64_t stride, int64_t rows,
                const PairedKeyValues& source, const KnownTokens& known, int64_t first, int64_t end, int64_t head_dim) {
  const bool has_bottom = rows > kTileSize, is_aligned = source.block_tokens % kTileDepth == 0;
  uint16_t part[kTileDepth * kRowsOfTiles];
  configure_rows<Unit>(rows);
  for (int64_t channel = 0; channel < head_dim; channel += kRowsOfTiles) {
    zero_sums<Unit>(has_bottom);
    for (int64_t token = first / kTileDepth * kTileDepth; token < end; token += kTileDepth) {
      const uint16_t* values = part;
      int64_t pair_stride = 2 * kRowsOfTiles;
      if (is_aligned && token >= known.first && token + kTileDepth <= known.end) {
        const int64_t offset = source.block_offset(token) + token % source.block_tokens * head_dim;
        values = source.values + offset + 2 * channel;
        pair_stride = 2 * head_dim;
      } else {
        copy_values(part, source, known, token, head_dim, channel);
      }
      const auto pair_bytes = pair_stride * static_cast<int64_t>(sizeof(uint16_t));
      load_both_rows<Unit>(weights + token, stride, has_bottom);
      Unit::template load<6>(values, pair_bytes);
      Unit::template load<7>(values + kTileDepth, pair_bytes);
      multiply_tiles<Unit>(has_bottom, true);
    }
    store_both_rows<Unit>(mixed + channel, width, has_bottom);
  }
}

}  // namespace seekrl::kernels
