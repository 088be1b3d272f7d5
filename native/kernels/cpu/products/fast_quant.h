// Products of int8 by the processor's dot products of four bytes, or by pairs of AVX2; codes and NF4 as bf16 again.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/products/fast_codes.h"
#include "kernels/products/bf16.h"
#include "kernels/products/quant.h"

namespace seekrl::kernels::SEEKRL_ISA {

inline void quant_row(const QuantRows& rows, int64_t row, const float* x, int64_t k) {
  for (int64_t block = 0; block < num_quant_blocks(k); ++block) {
    const int64_t at = row * rows.num_blocks + block, count = k - block * kQuantBlock;
    const float* from = x + block * kQuantBlock;
    float last[kQuantBlock] = {};
    if (count < kQuantBlock) {
      std::memcpy(last, from, static_cast<size_t>(count) * sizeof(float));
      from = last;
    }
    quant_block(rows.values + at * kQuantBlock, rows.scales + at, rows.sums + at, from);
  }
}

// The sums of one block: kRows rows of A with kPanels panels.
template <CodeForm kForm, int kRows, int kPanels>
inline void add_block(Ints (&sums)[kRows][kPanels], const int8_t* const (&a)[kRows],
                      const uint8_t* const (&codes)[kPanels], int64_t block) {
  for (int i = 0; i < 4; ++i) {
    Codes low[kPanels], high[kPanels];
    for (int p = 0; p < kPanels; ++p)
      load_groups<kForm>(low[p], high[p], codes[p] + block * panel_block_bytes(kForm), i);
    for (int r = 0; r < kRows; ++r) {
      const int8_t* values = a[r] + block * kQuantBlock + 8 * i;
      const Ints first = broadcast_group(values), second = broadcast_group(values + 4);
      for (int p = 0; p < kPanels; ++p) {
        sums[r][p] = add_dots(add_dots(sums[r][p], low[p], first), high[p], second);
      }
    }
  }
}

// One tile of C: kRows rows of A, kPanels panels of B.
template <CodeForm kForm, int kRows, int kPanels>
inline void quant_tile(Lanes (&chains)[kRows][kPanels], const QuantRows& of, int64_t row, const CodePanels& b) {
  const int64_t num_blocks = b.num_blocks;
  const int8_t* a[kRows];
  const uint8_t* codes[kPanels];
  for (int r = 0; r < kRows; ++r) a[r] = of.values + (row + r) * num_blocks * kQuantBlock;
  for (int p = 0; p < kPanels; ++p) codes[p] = b.codes + p * num_blocks * panel_block_bytes(kForm);
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) chains[r][p] = zeros();
  }
  for (int64_t block = 0; block < num_blocks; ++block) {
    Ints sums[kRows][kPanels];
    for (int r = 0; r < kRows; ++r) {
      const Ints start = first_sum<kForm>(of.sums[(row + r) * num_blocks + block]);
      for (int p = 0; p < kPanels; ++p) sums[r][p] = start;
    }
    add_block<kForm, kRows, kPanels>(sums, a, codes, block);
    for (int p = 0; p < kPanels; ++p) {
      const int64_t place = (p * num_blocks + block) * kQuantLanes;
      Lanes scale;
      if constexpr (kForm == CodeForm::kNibble) scale = load_f16(b.scales + place);
      for (int r = 0; r < kRows; ++r) {
        const int64_t at = (row + r) * num_blocks + block;
        const Lanes row_scale = broadcast(of.scales[at]), sum = to_floats(sums[r][p]);
        if constexpr (kForm == CodeForm::kByte) {
          chains[r][p] = fma(sum, row_scale, chains[r][p]);
        } else {
          chains[r][p] = fma(sum, row_scale * scale, chains[r][p]);
        }
      }
    }
  }
}

template <CodeForm kForm, int kRows, int kPanels>
inline void quant_columns(float* c, int64_t c_stride, const QuantRows& a, int64_t row, const CodePanels& b, int64_t n,
                          const float* bias) {
  Lanes chains[kRows][kPanels];
  quant_tile<kForm, kRows, kPanels>(chains, a, row, b);
  for (int p = 0; p < kPanels; ++p) {
    const int64_t left = n - p * kQuantLanes, count = left < kQuantLanes ? left : kQuantLanes;
    const Lanes biases = bias == nullptr ? zeros() : load_first(bias + p * kQuantLanes, count);
    for (int r = 0; r < kRows; ++r) {
      Lanes y = chains[r][p];
      if constexpr (kForm == CodeForm::kByte) {
        y = fma(y, load(b.channel_scales + p * kQuantLanes), biases);
      } else if (bias != nullptr) {
        y = y + biases;
      }
      store_first(c + r * c_stride + p * kQuantLanes, y, count);
    }
  }
}

// A tile's rows stay in the first-level cache while the panels come from the second, or, for the first, from memory.
template <CodeForm kForm, int kRows>
inline void quant_rows(float* c, int64_t c_stride, const QuantRows& a, int64_t row, const CodePanels& b, int64_t n,
                       const float* bias) {
  for (int64_t column = 0; column < n;) {
    const CodePanels from = b.at(column / kQuantLanes);
    const float* biases = bias == nullptr ? nullptr : bias + column;
    if (n - column > kQuantLanes) {
      quant_columns<kForm, kRows, 2>(c + column, c_stride, a, row, from, n - column, biases);
      column += 2 * kQuantLanes;
    } else {
      quant_columns<kForm, kRows, 1>(c + column, c_stride, a, row, from, n - column, biases);
      column += kQuantLanes;
    }
  }
}

template <CodeForm kForm>
inline void quant_form(float* c, int64_t c_stride, const QuantRows& a, int64_t row, const CodePanels& b, int64_t m,
                       int64_t n, const float* bias) {
  // Tiles of about as many rows each.
  const int64_t num_tiles = (m + kQuantTileRows - 1) / kQuantTileRows;
  for (int64_t tile = 0; tile < num_tiles; ++tile) {
    const int64_t first = m * tile / num_tiles, rows = m * (tile + 1) / num_tiles - first;
    float* to = c + first * c_stride;
    switch (rows) {
      case 1: quant_rows<kForm, 1>(to, c_stride, a, row + first, b, n, bias); break;
      case 2: quant_rows<kForm, 2>(to, c_stride, a, row + first, b, n, bias); break;
#if defined(__AVX512F__)
      case 3: quant_rows<kForm, 3>(to, c_stride, a, row + first, b, n, bias); break;
      case 4: quant_rows<kForm, 4>(to, c_stride, a, row + first, b, n, bias); break;
      case 5: quant_rows<kForm, 5>(to, c_stride, a, row + first, b, n, bias); break;
      default: quant_rows<kForm, 6>(to, c_stride, a, row + first, b, n, bias); break;
#endif
    }
  }
}

inline void quant_matmul(float* c_MN, int64_t c_stride, const QuantRows& a_MK, int64_t row, const CodePanels& b_KN,
                         int64_t m, int64_t n, const float* bias_N) {
  if (b_KN.form == CodeForm::kByte) {
    return quant_form<CodeForm::kByte>(c_MN, c_stride, a_MK, row, b_KN, m, n, bias_N);
  }
  quant_form<CodeForm::kNibble>(c_MN, c_stride, a_MK, row, b_KN, m, n, bias_N);
}

inline void codes_to_bf16(uint16_t* to, const CodePanels& panels, int64_t n, int64_t k) {
  const CodePanels from = panels.at(n / kQuantLanes);
  const int64_t lane = n % kQuantLanes, bytes = panel_block_bytes(panels.form);
  const bool is_nibble = panels.form == CodeForm::kNibble;
  const float offset = is_nibble ? 8.0f : 128.0f;
  float scale = is_nibble ? 0 : from.channel_scales[lane];
  for (int64_t block = 0; block < panels.num_blocks; ++block) {
    const int64_t count = k - block * kQuantBlock, place = block * kQuantLanes + lane;
    if (is_nibble) scale = from_f16(from.scales[place]);
    alignas(64) uint8_t codes[kQuantBlock];
    gather_codes(codes, from.codes + block * bytes + 4 * lane, is_nibble);
    uint16_t last[kQuantBlock];
    uint16_t* const target = count < kQuantBlock ? last : to + block * kQuantBlock;
    for (int64_t i = 0; i < kQuantBlock; i += kLanes) {
      store_bf16(target + i, (load_bytes(codes + i) - broadcast(offset)) * broadcast(scale));
    }
    if (count < kQuantBlock) std::memcpy(to + block * kQuantBlock, last, static_cast<size_t>(count) * sizeof(uint16_t));
  }
}

inline void nf4_to_bf16(uint16_t* to, const uint8_t* codes, const float* absmax, int64_t k) {
  const Lanes levels = load(kNf4Levels);
  for (int64_t first = 0; first < k; first += kNf4Block) {
    alignas(64) uint16_t table[16];
    store_bf16(table, levels * broadcast(absmax[first / kNf4Block]));
    const int64_t count = k - first;
    if (count >= kNf4Block) {
      look_up_block(to + first, codes + first / 2, table);
      continue;
    }
    uint16_t last[kNf4Block];
    look_up_block(last, codes + first / 2, table);
    std::memcpy(to + first, last, static_cast<size_t>(count) * sizeof(uint16_t));
  }
}

}  // namespace seekrl::kernels::SEEKRL_ISA
