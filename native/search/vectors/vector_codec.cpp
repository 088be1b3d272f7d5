// Plain loops: encoding is a sliver of the cost of inserting, and rounding a query one of searching.
#include "search/vectors/vector_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace seekrl::search {

namespace {

constexpr int64_t kMaxDim = 1 << 16;

uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float widened;
  std::memcpy(&widened, &bits, sizeof(widened));
  return widened;
}

// The factor to multiply each component with.
float factor_for(const VectorFormat& format, const float* vector_D) {
  double sum_squares = 0;
  float largest = 0;
  for (int64_t i = 0; i < format.dim; ++i) {
    sum_squares += static_cast<double>(vector_D[i]) * vector_D[i];
    largest = std::max(largest, std::fabs(vector_D[i]));
  }
  if (largest == 0 || format.metric == Metric::kIp) return 1;
  if (format.scalar == Scalar::kI8) return 127 / largest;
  return static_cast<float>(1 / std::sqrt(sum_squares));
}

// A component that rounding moved, and what its other neighbour in bf16 would do instead.
struct Choice {
  int64_t at;
  uint16_t other;
  double change;     // of the product with the exact vector
  double closeness;  // how near to the middle between both neighbours the exact value lies, up to 0.5
  friend bool operator<(const Choice& a, const Choice& b) { return a.closeness < b.closeness; }
};

// Rounding errors along the vector hurt its order among near vectors most: they are most of the error of a product with
// any vector like it. So the components that were nearly rounded the other way are, until the product of the vector
// with its stored form is its exact square. What is left of the error stands across.
void keep_product(const std::vector<float>& values, uint16_t* stored) {
  double missing = 0;
  for (size_t i = 0; i < values.size(); ++i) missing += double{values[i]} * (double{values[i]} - from_bf16(stored[i]));
  if (!std::isfinite(missing)) return;
  std::vector<Choice> choices;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i], error = value - from_bf16(stored[i]);
    if (value * error * missing <= 0) continue;
    const auto other = static_cast<uint16_t>(value * error > 0 ? stored[i] + 1 : stored[i] - 1);
    const double gap = double{from_bf16(other)} - from_bf16(stored[i]);
    choices.push_back({static_cast<int64_t>(i), other, value * gap, error / gap});
  }
  std::make_heap(choices.begin(), choices.end());
  while (!choices.empty()) {
    std::pop_heap(choices.begin(), choices.end());
    const Choice best = choices.back();
    choices.pop_back();
    if (std::fabs(missing - best.change) >= std::fabs(missing)) return;
    stored[best.at] = best.other;
    missing -= best.change;
  }
}

std::vector<float> scaled(const VectorFormat& format, const float* vector_D) {
  std::vector<float> values(vector_D, vector_D + format.dim);
  const float factor = factor_for(format, vector_D);
  for (float& value : values) value *= factor;
  return values;
}

void round_to_nearest(Scalar scalar, const std::vector<float>& values, void* stored) {
  switch (scalar) {
    case Scalar::kF32: std::copy(values.begin(), values.end(), static_cast<float*>(stored)); break;
    case Scalar::kBf16: std::transform(values.begin(), values.end(), static_cast<uint16_t*>(stored), to_bf16); break;
    case Scalar::kI8:
      std::transform(values.begin(), values.end(), static_cast<int8_t*>(stored),
                     [](float value) { return static_cast<int8_t>(std::lround(value)); });
      break;
    case Scalar::kB1: break;
  }
}

void encode_signs(const VectorFormat& format, const float* vector_D, uint64_t* words) {
  std::fill_n(words, format.bytes() / sizeof(uint64_t), 0);
  for (int64_t i = 0; i < format.dim; ++i) words[i / 64] |= uint64_t{vector_D[i] > 0} << (i % 64);
}

}  // namespace

size_t VectorFormat::bytes() const {
  const auto width = static_cast<size_t>(dim);
  switch (scalar) {
    case Scalar::kF32: return width * sizeof(float);
    case Scalar::kBf16: return width * sizeof(uint16_t);
    case Scalar::kI8: return width;
    case Scalar::kB1: return (width + 63) / 64 * sizeof(uint64_t);
  }
  return 0;
}

void check_format(const VectorFormat& format) {
  require(format.dim >= 1 && format.dim <= kMaxDim, ErrorCode::kRange, "dim: expected 1 to ", kMaxDim, ", got ",
          format.dim);
  const bool has_length = format.scalar == Scalar::kF32 || format.scalar == Scalar::kBf16;
  require(has_length || format.metric == Metric::kCos, ErrorCode::kArgument,
          "dtypes i8 and b1 keep directions only: expected metric cos, got ip");
}

void encode_query(const VectorFormat& format, const float* query_D, void* stored) {
  if (format.scalar == Scalar::kB1) return encode_signs(format, query_D, static_cast<uint64_t*>(stored));
  round_to_nearest(format.scalar, scaled(format, query_D), stored);
}

void encode_vector(const VectorFormat& format, const float* vector_D, void* stored) {
  if (format.scalar != Scalar::kBf16) return encode_query(format, vector_D, stored);
  const std::vector<float> values = scaled(format, vector_D);
  round_to_nearest(format.scalar, values, stored);
  keep_product(values, static_cast<uint16_t*>(stored));
}

float scale_of_stored(const VectorFormat& format, const void* stored) {
  if (format.scalar == Scalar::kB1) return static_cast<float>(1 / std::sqrt(static_cast<double>(format.dim)));
  if (format.scalar != Scalar::kI8) return 1;
  auto* row = static_cast<const int8_t*>(stored);
  int64_t sum_squares = 0;
  for (int64_t i = 0; i < format.dim; ++i) sum_squares += int64_t{row[i]} * row[i];
  return sum_squares == 0 ? 0 : static_cast<float>(1 / std::sqrt(static_cast<double>(sum_squares)));
}

void decode_vector(const VectorFormat& format, const void* stored, float* vector_D) {
  const float scale = scale_of_stored(format, stored);
  for (int64_t i = 0; i < format.dim; ++i) {
    switch (format.scalar) {
      case Scalar::kF32: vector_D[i] = static_cast<const float*>(stored)[i]; break;
      case Scalar::kBf16: vector_D[i] = from_bf16(static_cast<const uint16_t*>(stored)[i]); break;
      case Scalar::kI8: vector_D[i] = scale * static_cast<float>(static_cast<const int8_t*>(stored)[i]); break;
      case Scalar::kB1:
        vector_D[i] = (static_cast<const uint64_t*>(stored)[i / 64] >> (i % 64) & 1) != 0 ? scale : -scale;
        break;
    }
  }
}

}  // namespace seekrl::search
