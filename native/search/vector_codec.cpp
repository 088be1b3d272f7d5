// Plain loops: encoding is a sliver of the cost of inserting or searching.
#include "search/vector_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace seekrl::search {

namespace {

constexpr int64_t kMaxDim = 1 << 16;

uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The factor to multiply each component with.
float scale_of(const VectorFormat& format, const float* vector_D) {
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

}  // namespace

size_t VectorFormat::bytes() const {
  const auto width = static_cast<size_t>(dim);
  switch (scalar) {
    case Scalar::kF32: return width * sizeof(float);
    case Scalar::kBf16: return width * sizeof(uint16_t);
    case Scalar::kI8: return width;
  }
  return 0;
}

void check_format(const VectorFormat& format) {
  require(format.dim >= 1 && format.dim <= kMaxDim, ErrorCode::kRange, "dim: expected 1 to ", kMaxDim, ", got ",
          format.dim);
  require(format.scalar != Scalar::kI8 || format.metric == Metric::kCos, ErrorCode::kArgument,
          "dtype i8 keeps directions only: expected metric cos, got ip");
}

void encode_vector(const VectorFormat& format, const float* vector_D, void* stored) {
  const float scale = scale_of(format, vector_D);
  for (int64_t i = 0; i < format.dim; ++i) {
    const float value = vector_D[i] * scale;
    switch (format.scalar) {
      case Scalar::kF32: static_cast<float*>(stored)[i] = value; break;
      case Scalar::kBf16: static_cast<uint16_t*>(stored)[i] = to_bf16(value); break;
      case Scalar::kI8: static_cast<int8_t*>(stored)[i] = static_cast<int8_t>(std::lround(value)); break;
    }
  }
}

}  // namespace seekrl::search
