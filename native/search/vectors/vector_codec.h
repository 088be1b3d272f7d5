// How a vector is stored: as f32, bf16, i8 or signs alone, and at length one where the metric is the cosine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace seekrl::search {

enum class Metric { kCos, kIp };
enum class Scalar { kF32, kBf16, kI8, kB1 };

// What every vector of one index shares. i8 and b1 keep directions only, so they go with kCos alone.
struct VectorFormat {
  int64_t dim;
  Metric metric;
  Scalar scalar;

  size_t bytes() const;
  friend bool operator==(const VectorFormat&, const VectorFormat&) = default;
};

// Throws ERR_ARGUMENT or ERR_RANGE for a format that cannot be.
void check_format(const VectorFormat& format);

// Writes `vector_D` in the stored form, format.bytes() long. f32 and bf16: x / |x| for kCos, x for kIp. bf16 is rounded
// to nearest but for a few components that lie between two: they are rounded such that the product of x with its stored
// form is that of x with x. i8: x * 127 / max|x|, which leaves a component ten times the resolution that unit length
// would. b1: one bit, x > 0, in words of 64. A zero vector stays zero. The values are finite.
void encode_vector(const VectorFormat& format, const float* vector_D, void* stored);

// The same of a query, but that bf16 is rounded to nearest: an error along the query scales all its products with near
// vectors alike, so it changes no order, and the better rounding takes as long as a third of a search in a graph.
void encode_query(const VectorFormat& format, const float* query_D, void* stored);

// What products with a stored vector are multiplied with: 1 for f32 and bf16; 1 / |stored| for i8, whose length
// rounding has changed; 1 / sqrt(dim) for b1, whose components are -1 and 1.
float scale_of_stored(const VectorFormat& format, const void* stored);

// The vector that `stored` stands for, of length one for i8 and b1.
void decode_vector(const VectorFormat& format, const void* stored, float* vector_D);

}  // namespace seekrl::search
