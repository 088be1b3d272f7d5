// Attention over blocks against f64, and its bits against those of other batches.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "paged_cache.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

template <class Number>
void check_case(const PagedCase& c, double tolerance) {
  PagedData<Number> data(c);
  std::vector<Number> first;
  with_each_order([&] {
    EXPECT(data.run() == nullptr);
    EXPECT(data.relative_error() < tolerance);
    if (first.empty()) first = data.out;
    EXPECT(has_same_bits(first, data.out));
  });
}

// Sequences 1 to 4 begin with 512 keys of one, 5 and 6 with 256 of another; 0 with none.
template <class Number>
void check_shared(bool is_coded) {
  PagedData<Number> data(
      {4, 2, 64, {300, 520, 513, 700, 600, 257, 270}, {1, 1, 1, 2, 1, 1, 3}, 0, 0, kDtype<Number>, is_coded});
  for (const size_t each : {2, 3, 4}) data.share(each, 512);
  data.share(6, 256);
  EXPECT(data.run() == nullptr);
  const std::vector<Number> apart = data.out;
  data.shared_keys = {0, 512, 512, 512, 512, 256, 256};
  data.shared_tiles = {{1, 1, 5, 512}, {5, 6, 4, 256}};
  with_each_order([&] {
    data.out.assign(data.out.size(), from_float<Number>(NAN));
    EXPECT(data.run() == nullptr);
    EXPECT(has_same_bits(apart, data.out));
  });
}

}  // namespace

TEST("keys that sequences share are read for the rows of all, and no bit is another") {
  check_shared<Bf16>(false);
  check_shared<F16>(true);
}

TEST("shared keys and a window are refused") {
  PagedData<Bf16> data({2, 2, 32, {300, 300}, {1, 1}, 20});
  data.shared_tiles = {{0, 0, 2, 256}};
  data.shared_keys = {256, 256};
  EXPECT(data.run() != nullptr);
}

TEST("attention over blocks is that of f64 to the rounding of bf16, whatever the order of threads") {
  check_case<Bf16>({7, 1, 64, {1, 257, 400}, {1, 1, 1}}, 4e-3);
  check_case<Bf16>({4, 2, 80, {31, 130}, {1, 17}}, 4e-3);
  check_case<Bf16>({2, 2, 96, {64}, {64}}, 4e-3);
  check_case<Bf16>({4, 4, 32, {70}, {3}}, 4e-3);
  check_case<Bf16>({14, 2, 128, {515, 16}, {1, 5}}, 4e-3);
  check_case<Bf16>({4, 4, 256, {33, 300}, {1, 2}}, 4e-3);
}

TEST("attention over blocks in f16 is nearer to f64 than in bf16") {
  check_case<F16>({6, 2, 64, {100, 270}, {3, 1}, 0, 0, Dtype::kF16}, 6e-4);
  if (kIsRaceTest) return;
  for (const int64_t width : {32, 96, 256}) check_case<F16>({2, 1, width, {37}, {2}, 0, 0, Dtype::kF16}, 6e-4);
}

TEST("windows and soft caps hold in attention over blocks") {
  check_case<Bf16>({4, 2, 64, {400, 20, 64}, {9, 1, 64}, 48, 0}, 4e-3);
  check_case<Bf16>({4, 2, 64, {300, 20}, {9, 20}, 0, 5}, 4e-3);
}

TEST("a row has the same bits alone, in a batch, and in a chunk of its prompt") {
  const PagedCase together{7, 1, 64, {300, 90, 517}, {1, 1, 9}};
  PagedData<Bf16> batch(together);
  EXPECT(batch.run() == nullptr);
  const auto last = [](const PagedData<Bf16>& data) {
    return std::vector<Bf16>(data.out.end() - data.the.num_heads * data.the.head_dim, data.out.end());
  };
  // The last row of the batch, whose query and keys are moved to a batch of one position.
  PagedData<Bf16> alone({7, 1, 64, {300, 90, 517}, {1, 1, 1}});
  std::copy_n(batch.query.end() - 7 * 64, 7 * 64, alone.query.end() - 7 * 64);
  EXPECT(alone.run() == nullptr);
  EXPECT(has_same_bits(last(batch), last(alone)));
}

TEST("rows in parts have the bits of all at once") {
  const PagedCase shape{4, 2, 64, {300, 90, 517}, {8, 3, 16}, 0, 0};
  PagedData<Bf16> whole(shape), parts(shape);
  EXPECT(whole.run() == nullptr);
  EXPECT(parts.run(0, 11) == nullptr && parts.run(11, 19) == nullptr && parts.run(19, 27) == nullptr);
  EXPECT(has_same_bits(whole.out, parts.out));
}

TEST("more query heads to a key head than a tile has rows are refused") {
  PagedAttention call = {};
  call.num_tiles = call.num_kv_heads = 1;
  call.num_heads = 17;
  call.head_dim = 64;
  call.dtype = Dtype::kBf16;
  EXPECT(paged_attention(call, nullptr) != nullptr);
}

TEST("e4m3's codes are the numbers of its table, and numbers become the nearest of them, even at a tie") {
  const auto number_of = [](int code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    const double size = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
    return code < 128 ? size : -size;
  };
  for (int code = 0; code < 256; ++code) {
    EXPECT(unpack_e4m3(0xa5a5a5a5u ^ (0xa5u ^ code) << code % 4 * 8, code % 4) == number_of(code));
    if (code % 128 == 127) continue;
    EXPECT(from_float<E4m3>(static_cast<float>(number_of(code))).bits == code);
    if (code % 128 == 126) continue;
    const double middle = (number_of(code) + number_of(code + 1)) / 2;
    const auto tie = static_cast<float>(middle), outside = static_cast<float>(middle * (1 + 1e-6));
    const auto inside = static_cast<float>(middle * (1 - 1e-6));
    EXPECT(from_float<E4m3>(tie).bits == code + code % 2);
    EXPECT(from_float<E4m3>(inside).bits == code && from_float<E4m3>(outside).bits == code + 1);
  }
  EXPECT(from_float<E4m3>(1e9f).bits == 126 && from_float<E4m3>(-INFINITY).bits == 254);
  for (const float largest : {0.0f, 1e-9f, 0.3f, 1.0f, 447.0f, 448.0f, 449.0f, 6e4f}) {
    const float scale = e4m3_scale(largest);
    EXPECT(largest / scale <= 448 && (largest / scale > 223 || scale == 0x1p-15f));
  }
  EXPECT(std::isnan(e4m3_scale(NAN)) && std::isnan(e4m3_scale(INFINITY)));
}

TEST("attention over codes of 8 bits has the bits of attention over the numbers that they stand for") {
  const auto check = [](auto number, const PagedCase& c, double tolerance) {
    using Number = decltype(number);
    check_case<Number>(c, tolerance);
    if (kIsRaceTest) return;
    PagedData<Number> coded(c), plain(c);
    plain.key_codes.clear();
    EXPECT(coded.run() == nullptr && plain.run() == nullptr);
    int64_t num_wrong = 0;
    for (size_t i = 0; i < plain.out.size(); ++i) num_wrong += coded.out[i].bits != plain.out[i].bits ? 1 : 0;
    EXPECT(num_wrong == 0);
  };
  check(Bf16{}, {7, 1, 64, {1, 257, 100}, {1, 1, 1}, 0, 0, Dtype::kBf16, true}, 4e-3);
  check(F16{}, {4, 2, 80, {31, 130}, {1, 9}, 48, 0, Dtype::kF16, true}, 6e-4);
  check(Bf16{}, {2, 2, 96, {64}, {20}, 0, 5, Dtype::kBf16, true}, 4e-3);
  check(F16{}, {14, 2, 128, {275, 16}, {1, 2}, 0, 0, Dtype::kF16, true}, 6e-4);
  if (kIsRaceTest) return;
  check(Bf16{}, {4, 4, 256, {33, 100}, {1, 2}, 0, 0, Dtype::kBf16, true}, 4e-3);
  for (const int64_t width : {32, 64, 80, 96, 128, 256}) {
    check(Bf16{}, {2, 1, width, {37}, {2}, 0, 0, Dtype::kBf16, true}, 4e-3);
    check(F16{}, {2, 1, width, {37}, {2}, 0, 0, Dtype::kF16, true}, 6e-4);
  }
}
