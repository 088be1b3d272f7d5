// Attention of query rows over keys and values in blocks, for decoding and short chunks of prompts; prefill.h has long
// ones.
//
// A row's result depends on its query and its keys alone, not on the rows or the batch beside it: keys are taken in
// splits of kSplitTokens whose bounds are multiples of it, a split in four leaves, each of every fourth tile of 16 keys
// and summed by one warp; sums are joined in the order of leaves and of splits (leaf.cuh).
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// Keys of a split: few enough that long sequences fill a GPU, many enough that joining them costs little.
constexpr int32_t kSplitTokens = 256;
// Rows of a tile: (position, head of the group) pairs, positions outermost.
constexpr int32_t kTileRows = 16;

// Consecutive positions of one sequence whose rows make a tile: num_positions * num_heads / num_kv_heads <= kTileRows.
// The first position's row attends over the first num_keys tokens, the next over one more, and so on.
struct AttentionTile {
  int32_t sequence;   // row of the block table
  int32_t first_row;  // of query and out
  int32_t num_positions;
  int32_t num_keys;
};

// Tokens live in blocks of block_tokens, a multiple of 16: token t of a sequence at place t % block_tokens of block
// b = block_table[sequence * table_stride + t / block_tokens], its key of key head k at
// keys + ((b * num_kv_heads + k) * block_tokens + place) * C, its value likewise. Query, keys, values and scales begin
// at multiples of 16 bytes.
struct PagedAttention {
  void* out;          // [T, num_heads, C] in dtype; may be query
  const void* query;  // [T, num_heads, C]
  const void* keys;
  const void* values;
  const AttentionTile* tiles;  // [num_tiles], on the GPU
  const int32_t* block_table;  // on the GPU
  // paged_attention_scratch_floats floats.
  float* scratch;
  int64_t num_tiles;
  int64_t num_rows;                           // T
  int64_t num_heads, num_kv_heads, head_dim;  // head_dim: 32, 64, 80, 96, 128 or 256
  int64_t table_stride, block_tokens;
  int64_t max_keys;  // of any row
  float scale;       // of q . k
  float softcap;     // a score s becomes softcap tanh(s / softcap); 0: s stays
  int64_t window;    // a row attends over its last `window` keys; 0: over all
  Dtype dtype;       // kBf16 or kF16
  // Null: keys and values are in dtype. Else they are codes of 8 bits, e4m3, each head of each token times its scale, a
  // power of two: [blocks, num_kv_heads, block_tokens].
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;
  float* log_sum_HT = nullptr;  // of span.h, for gradients; null: not wanted
  // Keys that several sequences begin with are read once for the rows of a tile. The rows of such a tile, of whichever
  // sequences, all attend over the first num_keys tokens of its sequence, a multiple of kSplitTokens; each sequence's
  // own tiles attend over what is behind its shared_keys_S. A row of a sequence of which that is not 0 is in one of
  // these tiles. Without a window alone. The bits are those of no shared tiles.
  const AttentionTile* shared_tiles = nullptr;  // [num_shared_tiles], on the GPU
  const int32_t* shared_keys_S = nullptr;       // by row of the block table, on the GPU; null: none
  int64_t num_shared_tiles = 0;
  // The rows of the tiles given, where they are not all: [first_row, end_row), and `scratch` is for so many. 0:
  // num_rows.
  int64_t first_row = 0, end_row = 0;
};

// Reads each key and value of a tile's sequence once: num_keys * 2 * C * 2 bytes a tile and key head.
// s_j = scale q . k_j capped, f32 sums of products of 16-bit numbers; p_j = exp(s_j - m) rounded to 16 bits for the
// product with values, not for their sum l; out = (sum of p_j v_j) / l.
//
// Of codes, num_keys * 2 * (C + 4) bytes are read, and the result has the bits of that over the numbers that they stand
// for. A scale of its own for each token and head needs no calibration, and what is stored of a token depends on it
// alone; powers of two leave codes times scales exact in 16 bits, which the tensor cores of every GPU multiply.
// Training rounds no keys and values: log-probabilities that are generated over codes are not the trained model's.
Status paged_attention(const PagedAttention& call, void* stream);

int64_t paged_attention_scratch_floats(int64_t num_rows, int64_t num_heads, int64_t head_dim, int64_t max_keys);

}  // namespace seekrl::cuda
