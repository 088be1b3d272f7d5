// Products of activations rounded to int8 with weights of 8 or 4 bits, and quantised weights as bf16 again; CPU.
//
// A product's integer sums are exact and its f32 sums go block by block in order, so an element's bits do not depend on
// M, N, the rows beside it nor the instruction set.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace seekrl::kernels {

// Values along k that share a scale, of activations and of weights in blocks.
inline constexpr int64_t kQuantBlock = 32;
// Outputs of a panel, one in each lane of a 512-bit register.
inline constexpr int64_t kQuantLanes = 16;

inline constexpr int64_t num_quant_blocks(int64_t k) { return (k + kQuantBlock - 1) / kQuantBlock; }
inline constexpr int64_t num_quant_panels(int64_t n) { return (n + kQuantLanes - 1) / kQuantLanes; }

// What a weight's codes c mean: (c - 128) scale_n, (c - 8) scale_nb; of output n, block b along k.
enum class CodeForm { kByte, kNibble };

inline constexpr int64_t panel_block_bytes(CodeForm form) {
  return kQuantLanes * kQuantBlock / (form == CodeForm::kNibble ? 2 : 1);
}

// A weight in panels of 16 outputs, each its blocks one after another; K is filled up to whole blocks with any codes, N
// to whole panels. A block is groups of four values along k: in a block of bytes, value j of group g and lane l is byte
// 64 g + 4 l + j; in a block of nibbles groups 2 i and 2 i + 1 are the low and high halves of the bytes 64 i + 4 l + j.
struct CodePanels {
  CodeForm form = CodeForm::kByte;
  const uint8_t* codes = nullptr;
  const float* channel_scales = nullptr;  // kByte: [panels x 16]
  const uint16_t* scales = nullptr;       // kNibble: bits of f16, [panels, blocks, 16]
  int64_t num_blocks = 0;

  // From panel `panel` on.
  CodePanels at(int64_t panel) const;
};

// The value of a code, f32.
float code_value(const CodePanels& panels, int64_t n, int64_t i);

// Puts one block of output n into its place: codes[j] of its 32 values.
void put_block(uint8_t* codes, CodeForm form, int64_t num_blocks, int64_t n, int64_t block, const uint8_t* values);

float from_f16(uint16_t x);
// Rounded to the nearest, ties to even.
uint16_t to_f16(float x);

// M rows rounded to int8 by blocks: x = value scale_mb. K is filled up to whole blocks with zeros.
struct QuantRows {
  int8_t* values = nullptr;  // [M, blocks x 32]
  float* scales = nullptr;   // [M, blocks]
  int32_t* sums = nullptr;   // [M, blocks], of the values
  int64_t num_blocks = 0;

  // From block `block` on.
  QuantRows at(int64_t block) const { return {values + block * kQuantBlock, scales + block, sums + block, num_blocks}; }
};

// Smaller activations count as zero: 127 divided by one of them may be infinite.
inline constexpr float kLeastQuant = 1e-30f;

// k floats into the first blocks of row `row`. scale = max |x| / 127, value = round(x (127 / max |x|)), ties to even; a
// block with nothing above kLeastQuant is zero, one with a number that is not finite has the scale NaN.
namespace reference {
void quant_row(const QuantRows& rows, int64_t row, const float* x, int64_t k);
}
SEEKRL_KERNEL(quant_row);

// C_MN = A_MK B_KN + bias_N for rows [row, row + m) of A and the first n outputs of B. With s the exact sum of the
// products (c - 128 or 8) a of a block: kByte: one chain of fma(s, scale_mb) over the blocks, then
// fma(chain, scale_n, bias_n); kNibble: one chain of fma(s, scale_mb scale_nb), then + bias_n. bias_N may be null, then
// nothing is added.
// One thread; 2 M N K operations; reads B once for every 6 rows of A.
namespace reference {
void quant_matmul(float* c_MN, int64_t c_stride, const QuantRows& a_MK, int64_t row, const CodePanels& b_KN, int64_t m,
                  int64_t n, const float* bias_N);
}
SEEKRL_KERNEL(quant_matmul);

// The values of k codes of output n, rounded to bf16.
namespace reference {
void codes_to_bf16(uint16_t* to, const CodePanels& panels, int64_t n, int64_t k);
}
SEEKRL_KERNEL(codes_to_bf16);

// NF4: values that share an absmax, in a row of a weight.
inline constexpr int64_t kNf4Block = 64;
// Absmaxes of a weight, row after row, that share a scale.
inline constexpr int64_t kAbsmaxBlock = 256;

inline constexpr int64_t num_nf4_blocks(int64_t k) { return (k + kNf4Block - 1) / kNf4Block; }

// The levels: the quantiles of a normal distribution that QLoRA names (arXiv 2305.14314, appendix E).
extern const float kNf4Levels[16];

// bf16(level absmax_b) of one row: codes are nibbles, the first of each byte in its high half; each block is 32 bytes.
// k values are written.
namespace reference {
void nf4_to_bf16(uint16_t* to, const uint8_t* codes, const float* absmax, int64_t k);
}
SEEKRL_KERNEL(nf4_to_bf16);

}  // namespace seekrl::kernels
