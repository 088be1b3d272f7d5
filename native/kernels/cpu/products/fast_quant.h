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

// The sums of one block: kRows rows of A with kParts registers of outputs.
template <CodeForm kForm, int kRows, int kParts>
inline void add_block(Ints (&sums)[kRows][kParts], const int8_t* const (&a)[kRows], const CodePanels& b,
                      int64_t block) {
  constexpr int64_t kBytes = panel_block_bytes(kForm);
  for (int first = 0; first < kQuantBlock / 4; first += kGroupsAtOnce) {
    Ints codes[kGroupsAtOnce][kParts];
    for (int g = 0; g < kGroupsAtOnce; ++g) {
      for (int p = 0; p < kParts; ++p) {
        const uint8_t* from = b.codes + (p / kLaneParts * b.num_blocks + block) * kBytes;
        codes[g][p] = load_group<kForm>(from, first + g, p % kLaneParts);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int g = 0; g < kGroupsAtOnce; ++g) {
        const Ints values = broadcast_group(a[r] + block * kQuantBlock + 4 * (first + g));
        for (int p = 0; p < kParts; ++p) sums[r][p] = add_dots<kForm>(sums[r][p], codes[g][p], values);
      }
    }
  }
}

// One tile of C: kRows rows of A, kParts registers of outputs.
template <CodeForm kForm, int kRows, int kParts>
inline void quant_tile(Part (&chains)[kRows][kParts], const QuantRows& of, int64_t row, const CodePanels& b) {
  const int64_t num_blocks = b.num_blocks;
  const int8_t* a[kRows];
  for (int r = 0; r < kRows; ++r) a[r] = of.values + (row + r) * num_blocks * kQuantBlock;
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kParts; ++p) chains[r][p] = broadcast_part(0);
  }
  for (int64_t block = 0; block < num_blocks; ++block) {
    Ints sums[kRows][kParts];
    for (int r = 0; r < kRows; ++r) {
      const Ints start = first_sum<kForm>(of.sums[(row + r) * num_blocks + block]);
      for (int p = 0; p < kParts; ++p) sums[r][p] = start;
    }
    add_block<kForm, kRows, kParts>(sums, a, b, block);
    for (int p = 0; p < kParts; ++p) {
      const int64_t place = (p / kLaneParts * num_blocks + block) * kQuantLanes + p % kLaneParts * kPartLanes;
      Part scale;
      if constexpr (kForm == CodeForm::kNibble) scale = load_f16_part(b.scales + place);
      for (int r = 0; r < kRows; ++r) {
        const int64_t at = (row + r) * num_blocks + block;
        const Part row_scale = broadcast_part(of.scales[at]), sum = block_sum<kForm>(sums[r][p], of.sums[at]);
        if constexpr (kForm == CodeForm::kByte) {
          chains[r][p] = fma(sum, row_scale, chains[r][p]);
        } else {
          chains[r][p] = fma(sum, row_scale * scale, chains[r][p]);
        }
      }
    }
  }
}

// Up to kPanels panels' outputs, of which n are there.
template <CodeForm kForm, int kRows, int kPanels>
inline void quant_columns(float* c, int64_t c_stride, const QuantRows& a, int64_t row, const CodePanels& b, int64_t n,
                          const float* bias) {
  constexpr int kParts = kPanels * kLaneParts;
  Part chains[kRows][kParts];
  quant_tile<kForm, kRows, kParts>(chains, a, row, b);
  for (int p = 0; p < kParts; ++p) {
    const int64_t first = p * kPartLanes, count = n - first < kPartLanes ? n - first : kPartLanes;
    if (count <= 0) return;
    const Part biases = bias == nullptr ? broadcast_part(0) : load_first_part(bias + first, count);
    for (int r = 0; r < kRows; ++r) {
      Part y = chains[r][p];
      if constexpr (kForm == CodeForm::kByte) {
        y = fma(y, load_part(b.channel_scales + first), biases);
      } else if (bias != nullptr) {
        y = y + biases;
      }
      store_first(c + r * c_stride + first, y, count);
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
      quant_columns<kForm, kRows, kQuantTilePanels>(c + column, c_stride, a, row, from, n - column, biases);
      column += kQuantTilePanels * kQuantLanes;
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
      case 3: quant_rows<kForm, 3>(to, c_stride, a, row + first, b, n, bias); break;
      case 4: quant_rows<kForm, 4>(to, c_stride, a, row + first, b, n, bias); break;
#if defined(__AVX512F__)
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
