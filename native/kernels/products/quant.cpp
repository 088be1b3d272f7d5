// Where codes lie, what they mean, and the products written plainly.
#include "kernels/products/quant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/products/bf16.h"

namespace seekrl::kernels {

const float kNf4Levels[16] = {-1.0f,
                              -0.6961928009986877f,
                              -0.5250730514526367f,
                              -0.39491748809814453f,
                              -0.28444138169288635f,
                              -0.18477343022823334f,
                              -0.09105003625154495f,
                              0.0f,
                              0.07958029955625534f,
                              0.16093020141124725f,
                              0.24611230194568634f,
                              0.33791524171829224f,
                              0.44070982933044434f,
                              0.5626170039176941f,
                              0.7229568362236023f,
                              1.0f};

CodePanels CodePanels::at(int64_t panel) const {
  CodePanels from = *this;
  from.codes += panel * num_blocks * panel_block_bytes(form);
  if (channel_scales != nullptr) from.channel_scales += panel * kQuantLanes;
  if (scales != nullptr) from.scales += panel * num_blocks * kQuantLanes;
  return from;
}

namespace {

// The byte of value j of a block of output n, and whether it stands in the high half of a byte of nibbles.
struct Place {
  int64_t byte;
  bool is_high;
};

Place place_of(CodeForm form, int64_t num_blocks, int64_t n, int64_t block, int64_t j) {
  const int64_t group = j / 4, lane = n % kQuantLanes;
  const int64_t start = (n / kQuantLanes * num_blocks + block) * panel_block_bytes(form) + 4 * lane + j % 4;
  if (form == CodeForm::kNibble) return {start + group / 2 * 64, group % 2 == 1};
  return {start + group * 64, false};
}

// Of output n in the array of scales.
int64_t scale_place(int64_t num_blocks, int64_t n, int64_t block) {
  return (n / kQuantLanes * num_blocks + block) * kQuantLanes + n % kQuantLanes;
}

uint8_t code_at(const CodePanels& panels, int64_t n, int64_t i) {
  const auto [byte, is_high] = place_of(panels.form, panels.num_blocks, n, i / kQuantBlock, i % kQuantBlock);
  const uint8_t stored = panels.codes[byte];
  if (panels.form == CodeForm::kByte) return stored;
  return is_high ? stored >> 4 : stored & 15;
}

// What is subtracted from a code.
int32_t offset_of(CodeForm form) { return form == CodeForm::kNibble ? 8 : 128; }

}  // namespace

void put_block(uint8_t* codes, CodeForm form, int64_t num_blocks, int64_t n, int64_t block, const uint8_t* values) {
  for (int64_t j = 0; j < kQuantBlock; ++j) {
    const auto [byte, is_high] = place_of(form, num_blocks, n, block, j);
    if (form == CodeForm::kByte) {
      codes[byte] = values[j];
    } else if (is_high) {
      codes[byte] = static_cast<uint8_t>(codes[byte] | (values[j] << 4));
    } else {
      codes[byte] = values[j];
    }
  }
}

float code_value(const CodePanels& panels, int64_t n, int64_t i) {
  const auto code = static_cast<float>(code_at(panels, n, i) - offset_of(panels.form));
  if (panels.form == CodeForm::kByte) return code * panels.channel_scales[n];
  return code * from_f16(panels.scales[scale_place(panels.num_blocks, n, i / kQuantBlock)]);
}

float from_f16(uint16_t x) {
  const uint32_t sign = static_cast<uint32_t>(x & 0x8000u) << 16, exponent = (x >> 10) & 31u, fraction = x & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24f;
    return sign == 0 ? size : -size;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

uint16_t to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return sign | 0x7e00u;
  if (size >= 0x477ff000u) return sign | 0x7c00u;
  // Below the least normal number: in units of 2^-24, which an f32 near 2^-1 counts exactly and rounds to.
  if (size < 0x38800000u) {
    const float units = std::bit_cast<float>(size) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(units) - 0x3f000000u));
  }
  const uint32_t rounded = size + 0xfffu + ((size >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

namespace reference {

namespace {

void quant_block(int8_t* values, float* scale, int32_t* sum, const float* x, int64_t count) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  const auto absmax = std::bit_cast<float>(most);
  std::fill_n(values, kQuantBlock, int8_t{0});
  *sum = 0;
  *scale = 0;
  if (!std::isfinite(absmax)) *scale = std::numeric_limits<float>::quiet_NaN();
  if (!std::isfinite(absmax) || absmax <= kLeastQuant) return;
  *scale = absmax / 127.0f;
  const float inverse = 127.0f / absmax;
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
    *sum += values[i];
  }
}

}  // namespace

void quant_row(const QuantRows& rows, int64_t row, const float* x, int64_t k) {
  for (int64_t block = 0; block < num_quant_blocks(k); ++block) {
    const int64_t at = row * rows.num_blocks + block;
    quant_block(rows.values + at * kQuantBlock, rows.scales + at, rows.sums + at, x + block * kQuantBlock,
                std::min(kQuantBlock, k - block * kQuantBlock));
  }
}

void quant_matmul(float* c_MN, int64_t c_stride, const QuantRows& a_MK, int64_t row, const CodePanels& b_KN, int64_t m,
                  int64_t n, const float* bias_N) {
  const int64_t num_blocks = b_KN.num_blocks;
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t column = 0; column < n; ++column) {
      float chain = 0;
      for (int64_t block = 0; block < num_blocks; ++block) {
        const int64_t at = (row + r) * num_blocks + block;
        int32_t sum = 0;
        for (int64_t j = 0; j < kQuantBlock; ++j) {
          const int32_t code = code_at(b_KN, column, block * kQuantBlock + j) - offset_of(b_KN.form);
          sum += code * a_MK.values[at * kQuantBlock + j];
        }
        const float scale = a_MK.scales[at];
        if (b_KN.form == CodeForm::kByte) {
          chain = std::fma(static_cast<float>(sum), scale, chain);
          continue;
        }
        const int64_t place = scale_place(num_blocks, column, block);
        chain = std::fma(static_cast<float>(sum), scale * from_f16(b_KN.scales[place]), chain);
      }
      const float bias = bias_N == nullptr ? 0.0f : bias_N[column];
      float& c = c_MN[r * c_stride + column];
      if (b_KN.form == CodeForm::kByte) {
        c = std::fma(chain, b_KN.channel_scales[column], bias);
      } else {
        c = bias_N == nullptr ? chain : chain + bias;
      }
    }
  }
}

void codes_to_bf16(uint16_t* to, const CodePanels& panels, int64_t n, int64_t k) {
  for (int64_t i = 0; i < k; ++i) to[i] = to_bf16(code_value(panels, n, i));
}

void nf4_to_bf16(uint16_t* to, const uint8_t* codes, const float* absmax, int64_t k) {
  for (int64_t i = 0; i < k; ++i) {
    const uint8_t code = i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15;
    to[i] = to_bf16(kNf4Levels[code] * absmax[i / kNf4Block]);
  }
}

}  // namespace reference

}  // namespace seekrl::kernels
