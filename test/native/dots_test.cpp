// The products of every search against plain sums in double, at odd widths and odd numbers of rows and queries.
#include "search/vectors/dots/dots.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "search/vectors/dots/row_block.h"
#include "search/vectors/vector_codec.h"

using namespace seekrl;
using namespace seekrl::search;

namespace {

using Stored = std::vector<uint64_t>;

std::vector<Stored> random_rows(const VectorFormat& format, int64_t count, uint64_t seed) {
  std::vector<Stored> rows;
  std::vector<float> vector(static_cast<size_t>(format.dim));
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t i = 0; i < format.dim; ++i) {
      vector[static_cast<size_t>(i)] = static_cast<float>(normal_pair(seed, 1, row * format.dim + i).first);
    }
    rows.emplace_back(format.bytes() / sizeof(uint64_t) + 1);
    encode_vector(format, vector.data(), rows.back().data());
  }
  return rows;
}

// The sum over the components as they are stored, in double.
double expected_product(const VectorFormat& format, const Stored& a, const Stored& b) {
  std::vector<float> first(static_cast<size_t>(format.dim)), second(first.size());
  decode_vector(format, a.data(), first.data());
  decode_vector(format, b.data(), second.data());
  double sum = 0;
  for (size_t i = 0; i < first.size(); ++i) sum += static_cast<double>(first[i]) * second[i];
  return sum / scale_of_stored(format, a.data()) / scale_of_stored(format, b.data());
}

std::vector<const std::byte*> pointers(const std::vector<Stored>& rows) {
  std::vector<const std::byte*> all;
  for (const Stored& row : rows) all.push_back(reinterpret_cast<const std::byte*>(row.data()));
  return all;
}

void check_products(Dots dots, const VectorFormat& format, int64_t num_rows, int64_t num_queries) {
  const auto rows = random_rows(format, num_rows, 1), queries = random_rows(format, num_queries, 2);
  std::vector<float> products(static_cast<size_t>(num_rows * num_queries)), single(1);
  const auto row_data = pointers(rows), query_data = pointers(queries);
  dots(row_data.data(), num_rows, query_data.data(), num_queries, format.dim, products.data());
  double worst = 0;
  bool is_same = true;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t q = 0; q < queries.size(); ++q) {
      const float product = products[r * queries.size() + q];
      const double expected = expected_product(format, rows[r], queries[q]);
      // Sums of i8 reach 10^6, where the decoded vectors' own rounding shows.
      worst = std::max(worst, std::fabs(product - expected) / std::max(1.0, std::fabs(expected)));
      dots(&row_data[r], 1, &query_data[q], 1, format.dim, single.data());
      is_same &= single[0] == product;
    }
  }
  EXPECT_NEAR(worst, 0, 2e-4);
  EXPECT(is_same);
}

void check_all(Dots (*dots_of_scalar)(Scalar)) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kBf16, Scalar::kI8, Scalar::kB1}) {
    for (const int64_t dim : {1, 7, 31, 64, 65, 130, 384, 1000}) {
      check_products(dots_of_scalar(scalar), {dim, Metric::kCos, scalar}, 5, 6);
    }
    for (int64_t count = 1; count <= 9; ++count) {
      check_products(dots_of_scalar(scalar), {33, Metric::kCos, scalar}, count, 10 - count);
    }
  }
}

void check_block(RowBlock& block, const VectorFormat& format, int64_t num_rows, int64_t num_queries) {
  const auto rows = random_rows(format, num_rows, 1), queries = random_rows(format, num_queries, 2);
  std::vector<std::byte> stored;
  for (const std::byte* row : pointers(rows)) stored.insert(stored.end(), row, row + format.bytes());
  std::vector<float> products(static_cast<size_t>(RowBlock::kRows * num_queries)), single(RowBlock::kRows);
  const auto query_data = pointers(queries);
  block.load(stored.data(), num_rows);
  block.multiply(query_data.data(), num_queries, products.data());
  double worst = 0;
  bool is_same = true;
  for (size_t q = 0; q < queries.size(); ++q) {
    block.load(stored.data(), num_rows);
    block.multiply(&query_data[q], 1, single.data());
    for (size_t r = 0; r < rows.size(); ++r) {
      const float product = products[q * RowBlock::kRows + r];
      const double expected = expected_product(format, rows[r], queries[q]);
      worst = std::max(worst, std::fabs(product - expected) / std::max(1.0, std::fabs(expected)));
      is_same &= single[r] == product;
    }
  }
  EXPECT_NEAR(worst, 0, 2e-4);
  EXPECT(is_same);
}

void check_blocks(std::unique_ptr<RowBlock> (*make)(const VectorFormat&)) {
  for (const Scalar scalar : {Scalar::kF32, Scalar::kBf16, Scalar::kI8, Scalar::kB1}) {
    for (const int64_t dim : {1, 7, 31, 64, 65, 130, 384, 1000}) {
      const VectorFormat format = {dim, Metric::kCos, scalar};
      const auto block = make(format);
      for (const int64_t count : {1, 15, 64}) check_block(*block, format, count, 1 + count % 9);
    }
  }
}

}  // namespace

TEST("a block's products are the sums of their components, whoever else is multiplied") {
  check_blocks(pairs::make_row_block);
  if (avx512::is_supported()) check_blocks(avx512::make_row_block);
}

TEST("products of pairs are the sums of their components, whatever the tile") { check_all(pairs::dots_of); }

TEST("products of AVX-512 tiles are the sums of their components, whatever the tile") {
  if (avx512::is_supported()) check_all(avx512::dots_of);
}
