// One block at a time, in ggml's order of operations, so that numbers are equal to the last bit.
#include "model/gguf/ggml_blocks.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <bit>
#include <cstring>
#include <limits>

namespace seekrl::model {

namespace {

float half_at(const uint8_t* bytes) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return c10::detail::fp16_ieee_to_fp32_value(bits);
}

int signed_at(const uint8_t* bytes) { return static_cast<int8_t>(*bytes); }

template <class Number>
void widen_number(const uint8_t* bytes, float* to) {
  Number number;
  std::memcpy(&number, bytes, sizeof(number));
  *to = static_cast<float>(number);
}

void widen_q8_0(const uint8_t* block, float* numbers) {
  const float d = half_at(block);
  for (int j = 0; j < 32; ++j) numbers[j] = static_cast<float>(signed_at(block + 2 + j)) * d;
}

// 16 bytes: each holds the codes of numbers j, in its low half, and j + 16.
template <class ValueOf>
void widen_halves(const uint8_t* bytes, float* numbers, ValueOf value_of) {
  for (int j = 0; j < 16; ++j) {
    numbers[j] = value_of(bytes[j] & 15, j);
    numbers[j + 16] = value_of(bytes[j] >> 4, j + 16);
  }
}

void widen_q4_0(const uint8_t* block, float* numbers) {
  const float d = half_at(block);
  widen_halves(block + 2, numbers, [&](int code, int) { return static_cast<float>(code - 8) * d; });
}

void widen_q4_1(const uint8_t* block, float* numbers) {
  const float d = half_at(block), m = half_at(block + 2);
  widen_halves(block + 4, numbers, [&](int code, int) { return static_cast<float>(code) * d + m; });
}

// The fifth bits of 32 codes: of number j it is bit j, counted from the lowest of the first byte on.
int fifth_bit(const uint8_t* bits, int j) { return ((bits[j / 8] >> (j % 8)) & 1) << 4; }

void widen_q5_0(const uint8_t* block, float* numbers) {
  const float d = half_at(block);
  widen_halves(block + 6, numbers,
               [&](int code, int j) { return static_cast<float>((code | fifth_bit(block + 2, j)) - 16) * d; });
}

void widen_q5_1(const uint8_t* block, float* numbers) {
  const float d = half_at(block), m = half_at(block + 2);
  widen_halves(block + 8, numbers,
               [&](int code, int j) { return static_cast<float>(code | fifth_bit(block + 4, j)) * d + m; });
}

constexpr float kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void widen_iq4_nl(const uint8_t* block, float* numbers) {
  const float d = half_at(block);
  widen_halves(block + 2, numbers, [&](int code, int) { return d * kIq4Levels[code]; });
}

void widen_iq4_xs(const uint8_t* block, float* numbers) {
  const float d = half_at(block);
  const uint8_t *high = block + 2, *low = block + 4, *codes = block + 8;
  for (int part = 0; part < 8; ++part) {
    const int nibble = (low[part / 2] >> (part % 2 * 4)) & 15, top = (high[part / 4] >> (part % 4 * 2)) & 3;
    const float factor = d * static_cast<float>((nibble | top << 4) - 32);
    widen_halves(codes + part * 16, numbers + part * 32, [&](int code, int) { return factor * kIq4Levels[code]; });
  }
}

// Half of what an exponent of OCP's MX formats (E8M0) means, since the levels below are twice those of E2M1.
float half_of_e8m0(uint8_t exponent) {
  if (exponent == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1u) << 23);
}

void widen_mxfp4(const uint8_t* block, float* numbers) {
  static constexpr float kLevels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const float d = half_of_e8m0(block[0]);
  widen_halves(block + 1, numbers, [&](int code, int) { return kLevels[code] * d; });
}

// Two bits of each of 256 codes in 64 bytes: those of number 128 h + 32 q + l are pair q of byte 32 h + l.
int two_bits(const uint8_t* bytes, int half, int quarter, int l) { return (bytes[half * 32 + l] >> (quarter * 2)) & 3; }

void widen_q2_k(const uint8_t* block, float* numbers) {
  const float d = half_at(block + 80), m = half_at(block + 82);
  for (int part = 0; part < 16; ++part) {
    const float factor = d * static_cast<float>(block[part] & 15), shift = m * static_cast<float>(block[part] >> 4);
    for (int l = part % 2 * 16; l < part % 2 * 16 + 16; ++l) {
      *numbers++ = factor * static_cast<float>(two_bits(block + 16, part / 8, part / 2 % 4, l)) - shift;
    }
  }
}

// The j-th of 16 scales of 6 bits among 12 bytes: four low bits in the halves of the first eight, two high ones in the
// last four.
int scale_of_q3_k(int j, const uint8_t* packed) {
  return ((packed[j % 8] >> (j / 8 * 4)) & 15) | (((packed[8 + j % 4] >> (j / 4 * 2)) & 3) << 4);
}

void widen_q3_k(const uint8_t* block, float* numbers) {
  const float d = half_at(block + 108);
  for (int part = 0; part < 16; ++part) {
    const float factor = d * static_cast<float>(scale_of_q3_k(part, block + 96) - 32);
    for (int l = part % 2 * 16; l < part % 2 * 16 + 16; ++l) {
      const int high = ((block[l] >> (part / 2)) & 1) << 2;
      *numbers++ = factor * static_cast<float>((two_bits(block + 32, part / 8, part / 2 % 4, l) | high) - 4);
    }
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};

// The j-th pair of 6 bits each among 12 bytes: the first four lie in the low bits, the last four in nibbles and the
// high bits of the others.
ScaleAndMinimum pair_of(int j, const uint8_t* packed) {
  if (j < 4) return {packed[j] & 63, packed[j + 4] & 63};
  return {(packed[j + 4] & 15) | ((packed[j - 4] >> 6) << 4), (packed[j + 4] >> 4) | ((packed[j] >> 6) << 4)};
}

// What Q4_K and Q5_K share; bit p of byte l of `fifth`, where there is one, belongs to number l of part p.
void widen_parts(const uint8_t* block, const uint8_t* fifth, const uint8_t* codes, float* numbers) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int part = 0; part < 8; ++part) {
    const auto [scale, minimum] = pair_of(part, block + 4);
    const float factor = d * static_cast<float>(scale), shift = m * static_cast<float>(minimum);
    const uint8_t* from = codes + part / 2 * 32;
    for (int l = 0; l < 32; ++l) {
      const int high = fifth == nullptr ? 0 : ((fifth[l] >> part) & 1) << 4;
      *numbers++ = factor * static_cast<float>(((from[l] >> (part % 2 * 4)) & 15) | high) - shift;
    }
  }
}

void widen_q4_k(const uint8_t* block, float* numbers) { widen_parts(block, nullptr, block + 16, numbers); }

void widen_q5_k(const uint8_t* block, float* numbers) { widen_parts(block, block + 16, block + 48, numbers); }

void widen_q6_k(const uint8_t* block, float* numbers) {
  const float d = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const uint8_t *low = block + half * 64, *high = block + 128 + half * 32, *scales = block + 192 + half * 8;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int l = 0; l < 32; ++l) {
        const int nibble = (low[l + quarter % 2 * 32] >> (quarter / 2 * 4)) & 15;
        const int code = (nibble | (((high[l] >> (quarter * 2)) & 3) << 4)) - 32;
        const int scale = signed_at(scales + quarter * 2 + l / 16);
        *numbers++ = d * static_cast<float>(scale) * static_cast<float>(code);
      }
    }
  }
}

struct NamedFormat {
  const char* name;
  BlockFormat format;
};

// Of what widens one block; its loop knows the sizes, so that plain numbers are widened several at a time.
template <int64_t kSize, size_t kBytes, void (*kWidenOne)(const uint8_t*, float*)>
constexpr BlockFormat kBlocks = {kSize, kBytes, [](const uint8_t* blocks, int64_t num_blocks, float* numbers) {
                                   for (int64_t i = 0; i < num_blocks; ++i) {
                                     kWidenOne(blocks + static_cast<size_t>(i) * kBytes, numbers + i * kSize);
                                   }
                                 }};

constexpr NamedFormat kFormats[] = {
    {"F32", kBlocks<1, 4, widen_number<float>>},
    {"F16", kBlocks<1, 2, widen_number<c10::Half>>},
    {"BF16", kBlocks<1, 2, widen_number<c10::BFloat16>>},
    {"I16", kBlocks<1, 2, widen_number<int16_t>>},
    {"Q4_0", kBlocks<32, 18, widen_q4_0>},
    {"Q4_1", kBlocks<32, 20, widen_q4_1>},
    {"Q5_0", kBlocks<32, 22, widen_q5_0>},
    {"Q5_1", kBlocks<32, 24, widen_q5_1>},
    {"Q8_0", kBlocks<32, 34, widen_q8_0>},
    {"Q2_K", kBlocks<256, 84, widen_q2_k>},
    {"Q3_K", kBlocks<256, 110, widen_q3_k>},
    {"Q4_K", kBlocks<256, 144, widen_q4_k>},
    {"Q5_K", kBlocks<256, 176, widen_q5_k>},
    {"Q6_K", kBlocks<256, 210, widen_q6_k>},
    {"IQ4_NL", kBlocks<32, 18, widen_iq4_nl>},
    {"IQ4_XS", kBlocks<256, 136, widen_iq4_xs>},
    {"MXFP4", kBlocks<32, 17, widen_mxfp4>},
};

}  // namespace

const BlockFormat* block_format(const std::string& dtype) {
  for (const NamedFormat& each : kFormats) {
    if (dtype == each.name) return &each.format;
  }
  return nullptr;
}

}  // namespace seekrl::model
