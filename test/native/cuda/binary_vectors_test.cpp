// Exact search of bits against scores counted one by one: ids and bits of scores are the same, in every cut.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "hits.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/search/products.cuh"
#include "kernels/cuda/search/vectors.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

struct Shape {
  int64_t num_rows, num_queries, dim, num_hits, num_parts;
  int64_t width() const { return (dim + 127) / 128 * 128; }
};

// Signs in words of 32 bits, and how many of a vector are ones.
struct Bits {
  Bits(int64_t count, const Shape& shape, uint64_t stream) : num_words(shape.width() / 32), words(count * num_words) {
    const auto values = normals<float>(count * shape.dim, stream);
    for (int64_t i = 0; i < count * shape.dim; ++i) {
      const int64_t bit = i % shape.dim;
      words[i / shape.dim * num_words + bit / 32] |= uint32_t{values[i] > 0} << bit % 32;
    }
    for (int64_t i = 0; i < count; ++i) {
      ones.push_back(0);
      for (int64_t w = 0; w < num_words; ++w) ones[i] += std::popcount(words[i * num_words + w]);
    }
  }

  int64_t num_words;
  std::vector<uint32_t> words;
  std::vector<int32_t> ones;
};

float scale_of(const Shape& shape) { return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.dim))); }

// As the CPU's index scores and orders them.
Hits truth_of(const Shape& shape, const Bits& rows, const Bits& queries) {
  Hits truth;
  for (int64_t query = 0; query < shape.num_queries; ++query) {
    std::vector<float> scores;
    std::vector<int32_t> order;
    for (int64_t row = 0; row < shape.num_rows; ++row) {
      int64_t different = 0;
      for (int64_t w = 0; w < rows.num_words; ++w) {
        different += std::popcount(rows.words[row * rows.num_words + w] ^ queries.words[query * rows.num_words + w]);
      }
      scores.push_back(static_cast<float>(shape.dim - 2 * different) * scale_of(shape) * scale_of(shape));
      if (rows.ones[row] != kHiddenOnes) order.push_back(static_cast<int32_t>(row));
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return scores[a] > scores[b]; });
    for (int64_t i = 0; i < shape.num_hits; ++i) {
      const bool is_there = i < std::ssize(order);
      truth.ids.push_back(is_there ? order[i] : -1);
      truth.scores.push_back(is_there ? scores[order[i]] : -INFINITY);
    }
  }
  return truth;
}

Hits search(const Shape& shape, const Bits& rows, const Bits& queries) {
  Hits hits{std::vector<int32_t>(shape.num_queries * shape.num_hits, -7),
            poison<float>(shape.num_queries * shape.num_hits)};
  const int64_t num_bytes = vector_search_scratch_bytes(shape.num_queries, shape.num_hits, shape.num_parts);
  std::vector<uint64_t> scratch(num_bytes / 8 + 2, ~uint64_t{0});
  VectorSearch call = {};
  call.ids_QM = hits.ids.data();
  call.scores_QM = hits.scores.data();
  call.scratch = scratch.data();
  call.rows_NE = rows.words.data();
  call.queries_QE = queries.words.data();
  call.row_ones_N = rows.ones.data();
  call.query_ones_Q = queries.ones.data();
  call.num_rows = shape.num_rows;
  call.num_queries = shape.num_queries;
  call.width = shape.width();
  call.dim = shape.dim;
  call.binary_scale = scale_of(shape);
  call.num_hits = shape.num_hits;
  call.num_parts = shape.num_parts;
  call.kind = VectorKind::kBinary;
  EXPECT(search_vectors(call, nullptr) == nullptr);
  EXPECT(scratch[(num_bytes + 7) / 8] == ~uint64_t{0});
  return hits;
}

void check_search(const Shape& shape) {
  const Bits rows(shape.num_rows, shape, 1), queries(shape.num_queries, shape, 3);
  const Hits truth = truth_of(shape, rows, queries);
  with_each_order([&] { EXPECT(is_same(search(shape, rows, queries), truth)); });
}

// A warp's sums of 32 queries and 64 rows over one stage of shared memory.
template <class Products>
__global__ void multiply_stage(int32_t* sums_LS, const unsigned char* vectors, int64_t num_bytes) {
  SEEKRL_DYNAMIC_SHARED(unsigned char, shared);
  for (int i = static_cast<int>(threadIdx.x); i < 96 * kScanStride; i += 32) shared[i] = vectors[i];
  __syncthreads();
  int32_t sums[2][8][4] = {};
  multiply_vectors<Products>(sums, shared, shared + 32 * kScanStride, num_bytes);
  for (int i = 0; i < 64; ++i) sums_LS[threadIdx.x * 64 + i] = sums[i / 32][i / 4 % 8][i % 4];
}

template <class Products>
std::vector<int32_t> sums_of(const std::vector<unsigned char>& vectors, int64_t num_bytes) {
  std::vector<int32_t> sums(32 * 64, -7);
  EXPECT(launch(&multiply_stage<Products>, dim3(1), dim3(32), vectors.size(), nullptr, sums.data(), vectors.data(),
                num_bytes) == nullptr);
  return sums;
}

}  // namespace

TEST("bits: a search has the ids and the bits of scores that counting has, whatever the order of threads") {
  check_search({301, 3, 300, 10, 2});
  check_search({129, 65, 100, 1, 1});
  check_search({1, 1, 1, 1, 1});
  // Vectors that come in two turns, and in three, of which the last is short.
  check_search({200, 33, 1100, 3, 1});
  check_search({200, 3, 2100, 3, 1});
  if (!kIsRaceTest) check_search({700, 70, 768, 100, 2});
  if (!kIsRaceTest) check_search({2500, 1, 128, 1000, 1});
}

TEST("bits: of very many equal scores the lower rows come first, in every cut of the corpus") {
  // A handful of scores for all rows: every limit is one that many rows have.
  for (const int64_t dim : {5, 1, 128}) {
    if (kIsRaceTest && dim != 5) break;
    const Shape shape{kIsRaceTest ? 400 : 2000, 3, dim, 150, 1};
    const Bits rows(shape.num_rows, shape, 1), queries(shape.num_queries, shape, 3);
    const Hits truth = truth_of(shape, rows, queries);
    with_each_order([&] {
      for (const int64_t num_parts : {1, 4, 20}) {
        Shape cut = shape;
        cut.num_parts = num_parts;
        EXPECT(is_same(search(cut, rows, queries), truth));
      }
    });
  }
}

TEST("bits: hidden rows are not found, not even where there are fewer rows than hits") {
  const Shape shape{400, 2, 96, 200, 2};
  Bits rows(shape.num_rows, shape, 1);
  const Bits queries(shape.num_queries, shape, 3);
  for (int64_t row = 0; row < shape.num_rows; ++row) {
    if (row % 3 != 1) rows.ones[row] = kHiddenOnes;
  }
  const Hits truth = truth_of(shape, rows, queries);
  EXPECT(truth.ids.back() == -1 && truth.ids[0] >= 0);
  with_each_order([&] { EXPECT(is_same(search(shape, rows, queries), truth)); });
  check_search({37, 2, 128, 1000, 1});
  check_search({0, 2, 128, 10, 1});
}

TEST("bits: products of their planes as codes are the products of bits") {
  std::vector<unsigned char> vectors;
  for (const float each : normals<float>(96 * kScanStride, 5)) {
    vectors.push_back(static_cast<unsigned char>(std::lround(std::fabs(each) * 997)));
  }
  for (const int64_t num_bytes : {16, 33, 96, 128}) {
    const auto native = sums_of<BinaryProducts<true>>(vectors, num_bytes);
    EXPECT(sums_of<BinaryProducts<false>>(vectors, num_bytes) == native);
    EXPECT(*std::min_element(native.begin(), native.end()) > 0);
  }
}

TEST("bits: a search refuses widths and dims that cannot be") {
  VectorSearch call{};
  call.kind = VectorKind::kBinary;
  call.num_queries = call.num_hits = call.num_parts = 1;
  call.dim = 16;
  call.width = 16;
  EXPECT(search_vectors(call, nullptr) != nullptr);
  call.width = 128;
  for (const int64_t dim : {0, 129}) {
    call.dim = dim;
    EXPECT(search_vectors(call, nullptr) != nullptr);
  }
}
