// Attention of long prompts over blocks: the bits of paged attention's, whatever is asked together.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cuda/attention/prefill.h"
#include "paged_cache.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

template <class Number>
struct Results {
  std::vector<Number> out;
  std::vector<float> log_sums;
};

template <class Number>
void poison(PagedData<Number>& data) {
  data.out.assign(data.out.size(), from_float<Number>(NAN));
  data.log_sums.assign(data.log_sums.size(), NAN);
}

template <class Number>
Results<Number> paged(PagedData<Number>& data) {
  poison(data);
  EXPECT(data.run() == nullptr);
  return {data.out, data.log_sums};
}

// Tiles begin anew every `chunk` positions.
template <class Number>
Results<Number> prefilled(PagedData<Number>& data, int64_t chunk) {
  poison(data);
  const std::vector<AttentionTile> tiles = data.tiles_of(kPrefillRows, chunk);
  EXPECT(prefill_attention(data.call(tiles), nullptr) == nullptr);
  return {data.out, data.log_sums};
}

template <class Number>
bool are_same(const Results<Number>& a, const Results<Number>& b) {
  return has_same_bits(a.out, b.out) &&
         std::equal(a.log_sums.begin(), a.log_sums.end(), b.log_sums.begin(), b.log_sums.end(),
                    [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); });
}

template <class Number>
void check_bits(const PagedCase& c, double tolerance, int64_t chunk = INT32_MAX) {
  PagedData<Number> data(c);
  const Results<Number> expected = paged(data);
  with_each_order([&] {
    EXPECT(are_same(prefilled(data, chunk), expected));
    EXPECT(data.relative_error() < tolerance);
  });
}

}  // namespace

TEST(
    "a long prompt's rows have the bits of paged attention and are f64's to the rounding of bf16, whatever the order "
    "of threads") {
  check_bits<Bf16>({7, 1, 64, {1, 40, 530}, {1, 40, 12}}, 4e-3);
  check_bits<Bf16>({2, 1, 128, {280, 17}, {36, 17}}, 4e-3);
  if (kIsRaceTest) return;
  check_bits<Bf16>({1, 1, 96, {65, 270}, {65, 3}}, 4e-3);
  check_bits<Bf16>({2, 1, 80, {40}, {34}}, 4e-3);
  check_bits<F16>({3, 1, 80, {50, 270}, {30, 3}, 0, 0, Dtype::kF16}, 6e-4);
  check_bits<Bf16>({2, 2, 256, {33, 270}, {33, 3}}, 4e-3);
}

TEST("a long prompt's rows have the bits of paged attention with any number of heads to a key head") {
  for (const int64_t group : {1, 2, 3, 4, 5, 7, 8, 16}) {
    if (kIsRaceTest && group != 5) continue;
    check_bits<Bf16>({group, 1, 32, {140, 257 + group, 16}, {128 / group + 1, 2, 1}}, 4e-3);
  }
}

TEST("a long prompt's rows have the bits of paged attention wherever its chunks end") {
  const PagedCase shape = {7, 1, 32, {290, 21}, {80, 21}};
  PagedData<Bf16> data(shape);
  const Results<Bf16> expected = paged(data);
  for (const int64_t chunk : {1, 8, 9, 10, 33, 64, 79}) {
    if (kIsRaceTest && chunk != 33) continue;
    EXPECT(are_same(prefilled(data, chunk), expected));
  }
}

TEST("queries may lie where the result goes, and halves of wide heads do not read it") {
  for (const int64_t width : {64, 256}) {
    PagedData<Bf16> data({4, 2, width, {40, 20}, {36, 20}});
    const Results<Bf16> expected = paged(data);
    const std::vector<AttentionTile> tiles = data.tiles_of(kPrefillRows);
    PagedAttention call = data.call(tiles);
    data.out = data.query;
    call.query = data.out.data();
    EXPECT(prefill_attention(call, nullptr) == nullptr);
    EXPECT(has_same_bits(data.out, expected.out));
  }
}

TEST("windows, soft caps and codes of 8 bits in long prompts have the bits of paged attention") {
  // Rows whose window begins in a split, at its end, behind other splits.
  for (const int64_t window : {1, 20, 48, 255, 256, 300}) {
    if (kIsRaceTest && window != 48) continue;
    check_bits<Bf16>({4, 2, 32, {560, 20}, {40, 20}, window, 0}, 4e-3, 30);
  }
  check_bits<Bf16>({2, 1, 64, {270, 20}, {6, 20}, 0, 5}, 4e-3);
  check_bits<Bf16>({2, 1, 128, {300, 40}, {6, 40}, 100, 5, Dtype::kBf16, true}, 4e-3);
  if (kIsRaceTest) return;
  for (const int64_t width : {32, 64, 80, 96, 128, 256}) {
    check_bits<Bf16>({2, 1, width, {40}, {34}, 0, 0, Dtype::kBf16, true}, 4e-3);
    check_bits<F16>({2, 1, width, {40}, {34}, 0, 0, Dtype::kF16, true}, 6e-4);
    check_bits<F16>({2, 1, width, {40}, {34}, 0, 0, Dtype::kF16}, 6e-4);
  }
}

TEST("rows of no tile are left alone, and more heads to a key head than paged attention has are refused") {
  PagedData<Bf16> data({4, 2, 64, {40, 100}, {2, 100}});
  const Results<Bf16> expected = paged(data);
  poison(data);
  const std::vector<AttentionTile> tiles = data.tiles_of(kPrefillRows, INT32_MAX, 1);
  EXPECT(prefill_attention(data.call(tiles), nullptr) == nullptr);
  const auto behind = static_cast<int64_t>(2 * 4 * 64);
  EXPECT(std::all_of(data.out.begin(), data.out.begin() + behind, [](Bf16 x) { return std::isnan(value(x)); }));
  EXPECT(has_same_bits(std::vector<Bf16>(data.out.begin() + behind, data.out.end()),
                       std::vector<Bf16>(expected.out.begin() + behind, expected.out.end())));
  PagedAttention call = data.call(tiles);
  call.num_heads = 17 * call.num_kv_heads;
  EXPECT(prefill_attention(call, nullptr) != nullptr);
  call.num_tiles = 0;
  EXPECT(prefill_attention(call, nullptr) == nullptr);
}
