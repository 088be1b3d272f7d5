// A block with a row in each lane, so that no sum is ever taken over lanes.
#include "search/vectors/dots/row_block.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/rows.h"
#include "search/vectors/dots/kinds_avx512.h"

namespace seekrl::search::avx512 {

namespace {

constexpr int64_t kLanes = 16, kVectors = RowBlock::kRows / kLanes, kMostQueries = 6;
// Groups that are laid out at once, and rows called for ahead of them.
constexpr int64_t kStep = 64, kRowsAhead = 32;

// Component group i, four bytes, of every row stands at panel[i * kRows + row].
template <class Kind>
class LaneBlock : public RowBlock {
 public:
  explicit LaneBlock(const VectorFormat& format)
      : dim_(format.dim),
        row_bytes_(format.bytes()),
        num_groups_(static_cast<int64_t>((format.bytes() + 3) / 4)),
        panel_(static_cast<size_t>(num_groups_ * kRows)) {}

  void load(const std::byte* rows, int64_t num_rows) override {
    if (row_bytes_ % 4 != 0) return load_odd(rows, num_rows);
    for (int64_t first = 0; first < num_rows; first += kLanes) {
      for (int64_t group = 0; group < num_groups_; group += kStep) {
        const std::byte* from = rows + static_cast<size_t>(first) * row_bytes_ + group * 4;
        call_ahead(from);
        kernels::transpose(panel_.data() + group * kRows + first, kRows, reinterpret_cast<const float*>(from),
                           static_cast<int64_t>(row_bytes_ / 4), std::min(kLanes, num_rows - first),
                           std::min(kStep, num_groups_ - group));
        make_ready(panel_.data() + group * kRows + first, std::min(kStep, num_groups_ - group));
      }
    }
  }

  void multiply(const std::byte* const* queries, int64_t num_queries, float* products_QR) const override {
    for (int64_t q = 0; q < num_queries; q += kMostQueries) {
      float* to = products_QR + q * kRows;
      switch (std::min(kMostQueries, num_queries - q)) {
        case 1: multiply_tile<1>(queries + q, to); break;
        case 2: multiply_tile<2>(queries + q, to); break;
        case 3: multiply_tile<3>(queries + q, to); break;
        case 4: multiply_tile<4>(queries + q, to); break;
        case 5: multiply_tile<5>(queries + q, to); break;
        default: multiply_tile<6>(queries + q, to); break;
      }
    }
  }

 private:
  // The part of rows to come that corresponds to the 16 rows from `from` on, into the second-level cache.
  void call_ahead(const std::byte* from) const {
    for (int64_t r = kRowsAhead; r < kRowsAhead + kLanes; ++r) {
      for (int64_t at = 0; at < 4 * kStep; at += 64) {
        _mm_prefetch(reinterpret_cast<const char*>(from + static_cast<size_t>(r) * row_bytes_ + at), _MM_HINT_T1);
      }
    }
  }

  // 16 rows of so many groups as the sums take them: there and not in the loop, which has no register to spare.
  static void make_ready(float* groups, int64_t count) {
    if constexpr (!Kind::kIsReady) {
      for (int64_t i = 0; i < count; ++i) {
        _mm512_storeu_si512(groups + i * kRows, Kind::ready(_mm512_loadu_si512(groups + i * kRows)));
      }
    }
  }

  // Rows that do not begin at whole groups.
  void load_odd(const std::byte* rows, int64_t num_rows) {
    std::vector<float> row(static_cast<size_t>(num_groups_));
    for (int64_t r = 0; r < num_rows; ++r) {
      std::memcpy(row.data(), rows + static_cast<size_t>(r) * row_bytes_, row_bytes_);
      for (int64_t i = 0; i < num_groups_; ++i)
        panel_[static_cast<size_t>(i * kRows + r)] = row[static_cast<size_t>(i)];
    }
    for (int64_t first = 0; first < kRows; first += kLanes) make_ready(panel_.data() + first, num_groups_);
  }

  // All sums stay in registers.
  template <int kQueries>
  void multiply_tile(const std::byte* const* queries, float* products_QR) const {
    typename Kind::Sum sums[kQueries][kVectors];
    for (auto& of_query : sums) {
      for (auto& sum : of_query) sum = Kind::zero();
    }
    const float* line = panel_.data();
    for (int64_t i = 0; i < num_groups_; ++i, line += kRows) {
      __m512i rows[kVectors];
      for (int v = 0; v < kVectors; ++v) rows[v] = _mm512_loadu_si512(line + v * kLanes);
      for (int q = 0; q < kQueries; ++q) {
        int32_t group;
        std::memcpy(&group, queries[q] + i * 4, sizeof(group));
        const __m512i asked = _mm512_set1_epi32(group);
        for (int v = 0; v < kVectors; ++v) sums[q][v] = Kind::add(sums[q][v], rows[v], asked);
      }
    }
    for (int q = 0; q < kQueries; ++q) {
      const __m512i fix = _mm512_set1_epi32(Kind::fix(queries[q], dim_));
      for (int v = 0; v < kVectors; ++v) {
        _mm512_storeu_ps(products_QR + q * kRows + v * kLanes, Kind::products(sums[q][v], fix));
      }
    }
  }

  int64_t dim_;
  size_t row_bytes_;
  int64_t num_groups_;
  std::vector<float> panel_;
};

}  // namespace

std::unique_ptr<RowBlock> make_row_block(const VectorFormat& format) {
  switch (format.scalar) {
    case Scalar::kF32: return std::make_unique<LaneBlock<F32>>(format);
    case Scalar::kBf16: return std::make_unique<LaneBlock<Bf16>>(format);
    case Scalar::kI8: return std::make_unique<LaneBlock<I8>>(format);
    case Scalar::kB1: break;
  }
  return std::make_unique<LaneBlock<B1>>(format);
}

}  // namespace seekrl::search::avx512

#else

namespace seekrl::search::avx512 {

std::unique_ptr<RowBlock> make_row_block(const VectorFormat& format) { return pairs::make_row_block(format); }

}  // namespace seekrl::search::avx512

#endif
