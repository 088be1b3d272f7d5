// A tile of packed queries against block after block of rows; NumKong multiplies, a threshold keeps the best.
#include "search/exact_index.h"

#include <numkong/numkong.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "search/top_k.h"

namespace seekrl::search {

namespace {

constexpr int64_t kBlockRows = 256;

// The three multiplications: C[m, n] = A[m, k] * packed(B[n, k])^T with strides in bytes.
struct F32Kernel {
  using Stored = nk_f32_t;
  using Product = nk_f64_t;
  static constexpr auto packed_size = nk_dots_packed_size_f32;
  static constexpr auto pack = nk_dots_pack_f32;
  static constexpr auto multiply = nk_dots_packed_f32;
};
struct Bf16Kernel {
  using Stored = nk_bf16_t;
  using Product = nk_f32_t;
  static constexpr auto packed_size = nk_dots_packed_size_bf16;
  static constexpr auto pack = nk_dots_pack_bf16;
  static constexpr auto multiply = nk_dots_packed_bf16;
};
struct I8Kernel {
  using Stored = nk_i8_t;
  using Product = nk_i32_t;
  static constexpr auto packed_size = nk_dots_packed_size_i8;
  static constexpr auto pack = nk_dots_pack_i8;
  static constexpr auto multiply = nk_dots_packed_i8;
};

// 1 / |stored| of an i8 row, whose length rounding has changed.
float inverse_length(const std::byte* stored, int64_t dim) {
  auto* row = reinterpret_cast<const int8_t*>(stored);
  int64_t sum_squares = 0;
  for (int64_t i = 0; i < dim; ++i) sum_squares += int64_t{row[i]} * row[i];
  return sum_squares == 0 ? 0 : static_cast<float>(1 / std::sqrt(static_cast<double>(sum_squares)));
}

// Queries in the form the multiplication wants, and what to multiply each one's products with.
struct PackedQueries {
  std::vector<std::byte> packed;
  std::vector<float> scales_Q;
};

template <class Kernel>
PackedQueries pack_queries(const VectorFormat& format, const float* queries_QD, int64_t num_queries) {
  const size_t row_bytes = format.bytes();
  const auto width = static_cast<size_t>(num_queries), depth = static_cast<size_t>(format.dim);
  std::vector<std::byte> encoded(width * row_bytes);
  PackedQueries queries = {std::vector<std::byte>(Kernel::packed_size(width, depth)), std::vector<float>(width, 1)};
  for (size_t q = 0; q < width; ++q) {
    std::byte* stored = encoded.data() + q * row_bytes;
    encode_vector(format, queries_QD + q * depth, stored);
    if (format.scalar == Scalar::kI8) queries.scales_Q[q] = inverse_length(stored, format.dim);
  }
  Kernel::pack(reinterpret_cast<const typename Kernel::Stored*>(encoded.data()), width, depth, row_bytes,
               queries.packed.data());
  return queries;
}

}  // namespace

ExactIndex::ExactIndex(VectorFormat format, int64_t capacity) : format_(format), capacity_(capacity) {
  check_format(format);
  owned_rows_.resize(static_cast<size_t>(capacity) * format.bytes());
  if (format.scalar == Scalar::kI8) owned_scales_.resize(static_cast<size_t>(capacity));
  rows_ = owned_rows_.data();
  scales_ = owned_scales_.data();
  nk_capabilities();  // fills NumKong's table of kernels
}

std::unique_ptr<ExactIndex> ExactIndex::open(const std::string& path, Verify verify) {
  Blob blob(path, kKind, verify);
  auto index = std::make_unique<ExactIndex>(format_from(blob.numbers()), 0);
  const int64_t num_rows = blob.numbers()[0];
  const size_t row_bytes = index->format_.bytes() + (index->format_.scalar == Scalar::kI8 ? sizeof(float) : 0);
  require(num_rows >= 0 && num_rows <= INT32_MAX && blob.payload_bytes() == static_cast<size_t>(num_rows) * row_bytes,
          ErrorCode::kFormat, path, ": expected ", num_rows, " rows of ", row_bytes, " bytes, got ",
          blob.payload_bytes(), " bytes");
  index->capacity_ = num_rows;
  index->num_rows_ = num_rows;
  index->rows_ = blob.payload();
  // The scales stand first: a row of i8 may have any length, a float must be aligned.
  if (index->format_.scalar == Scalar::kI8) {
    index->scales_ = reinterpret_cast<const float*>(blob.payload());
    index->rows_ += static_cast<size_t>(num_rows) * sizeof(float);
  }
  index->blob_.emplace(std::move(blob));
  return index;
}

void ExactIndex::add(int64_t first, const float* vectors_ND, int64_t num_vectors) {
  for (int64_t i = 0; i < num_vectors; ++i) {
    const int64_t row = first + i;
    std::byte* stored = owned_rows_.data() + static_cast<size_t>(row) * format_.bytes();
    encode_vector(format_, vectors_ND + i * format_.dim, stored);
    if (format_.scalar == Scalar::kI8) owned_scales_[static_cast<size_t>(row)] = inverse_length(stored, format_.dim);
  }
  num_rows_ += num_vectors;
}

template <class Kernel>
void ExactIndex::search_with(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
                             float* scores_QK) const {
  const size_t row_bytes = format_.bytes();
  const auto width = static_cast<size_t>(num_queries), depth = static_cast<size_t>(format_.dim);
  const auto [packed, query_scales] = pack_queries<Kernel>(format_, queries_QD, num_queries);
  std::vector<TopK> best(width, TopK(top_k));
  std::vector<typename Kernel::Product> products(static_cast<size_t>(kBlockRows) * width);
  const int64_t num_rows = num_rows_;
  for (int64_t first = 0; first < num_rows; first += kBlockRows) {
    const int64_t num_block = std::min(kBlockRows, num_rows - first);
    auto* rows = reinterpret_cast<const typename Kernel::Stored*>(rows_ + static_cast<size_t>(first) * row_bytes);
    Kernel::multiply(rows, packed.data(), products.data(), static_cast<size_t>(num_block), width, depth, row_bytes,
                     width * sizeof(typename Kernel::Product));
    for (int64_t row = 0; row < num_block; ++row) {
      const float row_scale = scales_ == nullptr ? 1 : scales_[first + row];
      for (size_t q = 0; q < width; ++q) {
        const float score =
            static_cast<float>(products[static_cast<size_t>(row) * width + q]) * row_scale * query_scales[q];
        if (score >= best[q].threshold()) best[q].offer({score, static_cast<int32_t>(first + row)});
      }
    }
  }
  for (size_t q = 0; q < width; ++q) {
    const size_t at = q * static_cast<size_t>(top_k);
    best[q].take(ids_QK + at, scores_QK + at);
  }
}

void ExactIndex::search(const float* queries_QD, int64_t num_queries, int64_t top_k, int32_t* ids_QK,
                        float* scores_QK) const {
  switch (format_.scalar) {
    case Scalar::kF32: return search_with<F32Kernel>(queries_QD, num_queries, top_k, ids_QK, scores_QK);
    case Scalar::kBf16: return search_with<Bf16Kernel>(queries_QD, num_queries, top_k, ids_QK, scores_QK);
    case Scalar::kI8: return search_with<I8Kernel>(queries_QD, num_queries, top_k, ids_QK, scores_QK);
  }
}

void ExactIndex::save(const std::string& path) const {
  BlobWriter file(path, kKind);
  const auto num_rows = static_cast<size_t>(count());
  if (scales_ != nullptr) file.write(scales_, num_rows * sizeof(float));
  file.write(rows_, num_rows * format_.bytes());
  file.finish(numbers_of(*this));
}

}  // namespace seekrl::search
