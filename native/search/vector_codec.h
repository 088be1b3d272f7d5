// How a vector is stored: as f32, bf16 or i8, and at length one where the metric is the cosine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace seekrl::search {

enum class Metric { kCos, kIp };
enum class Scalar { kF32, kBf16, kI8 };

// What every vector of one index shares. i8 keeps directions only, so it goes with kCos alone.
struct VectorFormat {
  int64_t dim;
  Metric metric;
  Scalar scalar;

  size_t bytes() const;
};

// Throws ERR_ARGUMENT or ERR_RANGE for a format that cannot be.
void check_format(const VectorFormat& format);

// Writes `vector_D` in the stored form, format.bytes() long. f32 and bf16: x / |x| for kCos, x for kIp, bf16 rounded to
// nearest even. i8: x * 127 / max|x|, which leaves a component ten times the resolution that unit length would.
// A zero vector stays zero. The values are finite.
void encode_vector(const VectorFormat& format, const float* vector_D, void* stored);

}  // namespace seekrl::search
