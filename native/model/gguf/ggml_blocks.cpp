// One block at a time, in ggml's order of operations, so that numbers are equal to the last bit.
#include "model/gguf/ggml_blocks.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstring>

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

void widen_q4_0(const uint8_t* block, float* numbers) {
  const float d = half_at(block);
  for (int j = 0; j < 16; ++j) {
    const int pair = block[2 + j];
    numbers[j] = static_cast<float>((pair & 15) - 8) * d;
    numbers[j + 16] = static_cast<float>((pair >> 4) - 8) * d;
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

void widen_q4_k(const uint8_t* block, float* numbers) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint8_t *packed = block + 4, *codes = block + 16;
  for (int part = 0; part < 8; ++part) {
    const auto [scale, minimum] = pair_of(part, packed);
    const float factor = d * static_cast<float>(scale), shift = m * static_cast<float>(minimum);
    const uint8_t* from = codes + part / 2 * 32;
    const int bits = part % 2 * 4;
    for (int l = 0; l < 32; ++l) *numbers++ = factor * static_cast<float>((from[l] >> bits) & 15) - shift;
  }
}

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
    {"Q8_0", kBlocks<32, 34, widen_q8_0>},
    {"Q4_0", kBlocks<32, 18, widen_q4_0>},
    {"Q4_K", kBlocks<256, 144, widen_q4_k>},
    {"Q6_K", kBlocks<256, 210, widen_q6_k>},
};

}  // namespace

const BlockFormat* block_format(const std::string& dtype) {
  for (const NamedFormat& each : kFormats) {
    if (dtype == each.name) return &each.format;
  }
  return nullptr;
}

}  // namespace seekrl::model
