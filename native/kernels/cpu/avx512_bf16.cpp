// The kernels of bf16 compiled for AVX512-BF16 and AMX; CMakeLists.txt gives this file its instruction set.
#if defined(__x86_64__)

#define SEEKRL_ISA avx512_bf16
#include "kernels/cpu/attention/fast_attention_bf16.h"
#include "kernels/cpu/attention/tile_attention.h"
#include "kernels/cpu/products/amx.h"
#include "kernels/cpu/products/fast_bf16.h"
#include "kernels/cpu/products/fast_few_bf16.h"
#include "kernels/cpu/products/fast_tiles.h"
#include "kernels/table.h"

namespace seekrl::kernels::SEEKRL_ISA {

namespace {

// Runs body(first row of the tile, rows, tokens that the last of them reaches) for 32 rows at a time.
template <class Body>
void for_tile_rows(const QueryRows& rows, const RowTile& tile, const Body& body) {
  for (int64_t row = 0; row < tile.count; row += kRowsOfTiles) {
    const int64_t count = std::min(kRowsOfTiles, tile.count - row);
    body(row, count, keys_of(rows, tile.first + row + count - 1));
  }
}

// Both products by the matrix unit.
struct TileProducts {
  static constexpr int64_t kTokens = kTileDepth;

  static void scores(float* scores, const uint16_t* query, const QueryRows& rows, const PairedKeyValues& source,
                     const RowTile& tile, int64_t head_dim, float scale) {
    for_tile_rows(rows, tile, [&](int64_t row, int64_t count, int64_t reach) {
      score_tokens<AmxUnit>(scores + row * tile.stride, tile.stride, query + row * head_dim, count, source,
                            tile.first_key, reach, head_dim, scale);
    });
  }

  static void mix(float* mixed, int64_t width, const uint16_t* weights, const QueryRows& rows,
                  const PairedKeyValues& source, const RowTile& tile, int64_t head_dim) {
    const KnownTokens known = {tile.first_key / 2 * 2, even(tile.most_keys)};
    for_tile_rows(rows, tile, [&](int64_t row, int64_t count, int64_t reach) {
      mix_tokens<AmxUnit>(mixed + row * width, width, weights + row * 2 * tile.stride, 2 * tile.stride, count, source,
                          known, tile.first_key, reach, head_dim);
    });
  }
};

void attend_tiles(const QueryRows& rows, const PairedKeyValues& source, int64_t head_dim, const ScoreRule& rule,
                  float* log_sum_exp, float* scratch) {
  if (head_dim % kTileDepth != 0) return attend_bf16(rows, source, head_dim, rule, log_sum_exp, scratch);
  attend_by<TileProducts>(rows, source, head_dim, rule, log_sum_exp, scratch);
  AmxUnit::release();
}

}  // namespace

}  // namespace seekrl::kernels::SEEKRL_ISA

#define SEEKRL_VERSION(name) SEEKRL_ISA::name,

namespace seekrl::kernels {

const Bf16Table kAvx512Bf16Table = {SEEKRL_BF16_KERNELS(SEEKRL_VERSION)};

// The rest are as fast without the matrix unit.
const Bf16Table kAmxBf16Table = {SEEKRL_ISA::attend_tiles, SEEKRL_ISA::few_matmul, tile_matmul<AmxUnit>,
                                 SEEKRL_ISA::round_to_bf16};

}  // namespace seekrl::kernels

#endif
