// Attention of query rows over keys and values in blocks where a sequence has many rows: prompts, what tools say, and
// training.
//
// A row has the bits that paged_attention gives it (leaf.cuh has the arithmetic of both), so that either may take it.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/paged.h"

namespace seekrl::cuda {

// Rows of a tile, as kTileRows of paged_attention's.
constexpr int32_t kPrefillRows = 64;

// Of `call`, scratch, shared tiles and the bounds of rows are not looked at: out and log_sum_HT are written for the
// rows of call.tiles, num_positions * num_heads / num_kv_heads <= kPrefillRows, and for no others.
//
// A block of threads has a tile and a key head. It walks the keys that its rows see once, 64 at a time, by copies that
// run meanwhile; each warp has 16 rows, whose sums, of the split and of all before it, stay in registers: of heads of
// 128, two blocks are on a multiprocessor of sm_80, 90 and 100, one on those with 100 KB of shared memory (sm_86, 89,
// 120). Of heads of 256 it walks twice, for half of the values' columns each.
//
// Of 64 keys and C columns a block reads 256 C bytes for 64 * 256 C FLOP: 64 FLOP to a byte of L2, where tiles of 16
// rows have 16; at 5.5 TB/s of L2 that is 350 TFLOP/s. The same keys take, at C = 128, 72 reads of 512 bytes of shared
// memory by each of four warps, 1,152 cycles, and products for 1,024 cycles of 1,024 multiply-adds: by the former 132
// multiprocessors at 1.75 GHz do 420 TFLOP/s. All of it is computed.
Status prefill_attention(const PagedAttention& call, void* stream);

}  // namespace seekrl::cuda
