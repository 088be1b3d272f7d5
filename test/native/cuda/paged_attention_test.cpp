// Attention over blocks against f64, and its bits against those of other batches.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "card.h"
#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/e4m3.h"

using namespace seekrl;
using namespace seekrl::cuda;
using namespace seekrl::test;

namespace {

constexpr int64_t kBlockTokens = 32;

// Sequences with random queries, keys and values; what no row may read is NaN.
struct Case {
  int64_t num_heads, num_kv_heads, head_dim;
  std::vector<int64_t> num_tokens;     // of each sequence
  std::vector<int64_t> num_positions;  // at its end, that are attended for
  int64_t window = 0;
  float softcap = 0;
  Dtype dtype = Dtype::kBf16;
  bool is_coded = false;
};

template <class Number>
struct Data {
  explicit Data(const Case& c) : the(c) {
    int64_t num_blocks = 3, num_rows = 0, longest = 0;
    for (size_t i = 0; i < c.num_tokens.size(); ++i) {
      num_blocks += blocks_of(i);
      num_rows += c.num_positions[i];
      longest = std::max(longest, blocks_of(i));
    }
    table_stride = longest;
    table.assign(c.num_tokens.size() * longest, -1'000'000);
    const Number nan = from_float<Number>(NAN);
    keys.assign(num_blocks * c.num_kv_heads * kBlockTokens * c.head_dim, nan);
    values = keys;
    query.resize(num_rows * c.num_heads * c.head_dim);
    out.assign(query.size(), nan);
    for (size_t i = 0; i < query.size(); ++i) query[i] = normal(1, i);
    int64_t next = num_blocks - 1, row = 0;
    for (size_t i = 0; i < c.num_tokens.size(); ++i) {
      for (int64_t b = 0; b < blocks_of(i); ++b) table[i * longest + b] = static_cast<int32_t>(next--);
      for (int64_t t = 0; t < c.num_tokens[i]; ++t) put(i, t);
      add_tiles(i, row);
      row += c.num_positions[i];
    }
    if (!c.is_coded) return;
    encode(keys, key_codes, key_scales);
    encode(values, value_codes, value_scales);
  }

  // Replaces numbers by what codes stand for.
  void encode(std::vector<Number>& numbers, std::vector<E4m3>& codes, std::vector<float>& scales) const {
    for (size_t first = 0; first < numbers.size(); first += the.head_dim) {
      const auto scale = static_cast<float>(std::ldexp(1, static_cast<int>(first % 5) - 8));
      scales.push_back(scale);
      for (size_t i = first; i < first + the.head_dim; ++i) {
        codes.push_back(from_float<E4m3>(static_cast<float>(value(numbers[i]) / scale)));
        numbers[i] = from_float<Number>(unpack_e4m3(codes.back().bits, 0) * scale);
      }
    }
  }

  int64_t blocks_of(size_t i) const { return (the.num_tokens[i] + kBlockTokens - 1) / kBlockTokens; }
  Number normal(uint64_t stream, uint64_t i) const {
    return from_float<Number>(static_cast<float>(normal_pair(7, stream, i).first));
  }
  int64_t place(size_t sequence, int64_t token, int64_t head) const {
    const int64_t block = table[sequence * table_stride + token / kBlockTokens];
    return ((block * the.num_kv_heads + head) * kBlockTokens + token % kBlockTokens) * the.head_dim;
  }
  // What stands behind a sequence's last token in its last block stays NaN: nobody has written it.
  void put(size_t sequence, int64_t token) {
    for (int64_t head = 0; head < the.num_kv_heads; ++head) {
      for (int64_t c = 0; c < the.head_dim; ++c) {
        const uint64_t i = ((sequence * 1000 + token) * the.num_kv_heads + head) * the.head_dim + c;
        const int64_t at = place(sequence, token, head) + c;
        keys[at] = normal(2, i);
        values[at] = normal(3, i);
      }
    }
  }
  void add_tiles(size_t sequence, int64_t first_row) {
    const int64_t count = the.num_positions[sequence], at_once = kTileRows / (the.num_heads / the.num_kv_heads);
    for (int64_t p = 0; p < count; p += at_once) {
      tiles.push_back({static_cast<int32_t>(sequence), static_cast<int32_t>(first_row + p),
                       static_cast<int32_t>(std::min(at_once, count - p)),
                       static_cast<int32_t>(the.num_tokens[sequence] - count + p + 1)});
    }
  }

  // Sequence `sequence` begins with the blocks of the one before it, as far as `num_keys` goes.
  void share(size_t sequence, int64_t num_keys) {
    for (int64_t b = 0; b < num_keys / kBlockTokens; ++b) {
      table[sequence * table_stride + b] = table[(sequence - 1) * table_stride + b];
    }
  }

  // With end_row, of the tiles whose rows lie in [first_row, end_row) alone.
  Status run(int64_t first_row = 0, int64_t end_row = 0) {
    const int64_t num_rows = static_cast<int64_t>(query.size()) / (the.num_heads * the.head_dim);
    const int64_t max_keys = *std::max_element(the.num_tokens.begin(), the.num_tokens.end());
    const int64_t num_here = end_row == 0 ? num_rows : end_row - first_row;
    scratch.assign(paged_attention_scratch_floats(num_here, the.num_heads, the.head_dim, max_keys), NAN);
    const bool is_coded = !key_codes.empty();
    std::vector<AttentionTile> some;
    for (const AttentionTile& tile : tiles) {
      if (end_row == 0 || (tile.first_row >= first_row && tile.first_row < end_row)) some.push_back(tile);
    }
    return paged_attention({.out = out.data(),
                            .query = query.data(),
                            .keys = is_coded ? static_cast<const void*>(key_codes.data()) : keys.data(),
                            .values = is_coded ? static_cast<const void*>(value_codes.data()) : values.data(),
                            .tiles = some.data(),
                            .block_table = table.data(),
                            .scratch = scratch.data(),
                            .num_tiles = std::ssize(some),
                            .num_rows = num_rows,
                            .num_heads = the.num_heads,
                            .num_kv_heads = the.num_kv_heads,
                            .head_dim = the.head_dim,
                            .table_stride = table_stride,
                            .block_tokens = kBlockTokens,
                            .max_keys = max_keys,
                            .scale = 1.0f / std::sqrt(static_cast<float>(the.head_dim)),
                            .softcap = the.softcap,
                            .window = the.window,
                            .dtype = the.dtype,
                            .key_scales = is_coded ? key_scales.data() : nullptr,
                            .value_scales = is_coded ? value_scales.data() : nullptr,
                            .shared_tiles = shared_tiles.data(),
                            .shared_keys_S = shared_keys.empty() ? nullptr : shared_keys.data(),
                            .num_shared_tiles = static_cast<int64_t>(shared_tiles.size()),
                            .first_row = first_row,
                            .end_row = end_row},
                           nullptr);
  }

  // One row of one head in f64.
  std::vector<double> expected(size_t sequence, int64_t row, int64_t head, int64_t num_keys) const {
    const int64_t kv_head = head / (the.num_heads / the.num_kv_heads), width = the.head_dim;
    const int64_t first = the.window > 0 ? std::max<int64_t>(0, num_keys - the.window) : 0;
    std::vector<double> weights, result(width);
    double sum = 0;
    for (int64_t t = first; t < num_keys; ++t) {
      double score = 0;
      for (int64_t c = 0; c < width; ++c) {
        score += double{to_float(query[(row * the.num_heads + head) * width + c])} *
                 to_float(keys[place(sequence, t, kv_head) + c]);
      }
      score /= std::sqrt(static_cast<double>(width));
      if (the.softcap > 0) score = the.softcap * std::tanh(score / the.softcap);
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int64_t t = first; t < num_keys; ++t) {
      for (int64_t c = 0; c < width; ++c) {
        result[c] += weights[t - first] / sum * to_float(values[place(sequence, t, kv_head) + c]);
      }
    }
    return result;
  }

  // Of the root mean squares.
  double relative_error() const {
    double error = 0, size = 0;
    int64_t row = 0;
    for (size_t i = 0; i < the.num_tokens.size(); ++i) {
      for (int64_t p = 0; p < the.num_positions[i]; ++p, ++row) {
        for (int64_t head = 0; head < the.num_heads; ++head) {
          const std::vector<double> truth = expected(i, row, head, the.num_tokens[i] - the.num_positions[i] + p + 1);
          for (int64_t c = 0; c < the.head_dim; ++c) {
            const double difference = to_float(out[(row * the.num_heads + head) * the.head_dim + c]) - truth[c];
            error += difference * difference;
            size += truth[c] * truth[c];
          }
        }
      }
    }
    return std::sqrt(error / size);
  }

  const Case the;
  std::vector<Number> query, keys, values, out;
  std::vector<int32_t> table;
  std::vector<AttentionTile> tiles, shared_tiles;
  std::vector<int32_t> shared_keys;
  std::vector<float> scratch, key_scales, value_scales;
  std::vector<E4m3> key_codes, value_codes;
  int64_t table_stride = 0;
};

template <class Number>
void check_case(const Case& c, double tolerance) {
  Data<Number> data(c);
  std::vector<Number> first;
  with_each_order([&] {
    EXPECT(data.run() == nullptr);
    EXPECT(data.relative_error() < tolerance);
    if (first.empty()) first = data.out;
    EXPECT(
        std::equal(first.begin(), first.end(), data.out.begin(), [](Number a, Number b) { return a.bits == b.bits; }));
  });
}

// Sequences 1 to 4 begin with 512 keys of one, 5 and 6 with 256 of another; 0 with none.
template <class Number>
void check_shared(bool is_coded) {
  Data<Number> data(
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
    EXPECT(
        std::equal(apart.begin(), apart.end(), data.out.begin(), [](Number a, Number b) { return a.bits == b.bits; }));
  });
}

}  // namespace

TEST("keys that sequences share are read for the rows of all, and no bit is another") {
  check_shared<Bf16>(false);
  check_shared<F16>(true);
}

TEST("shared keys and a window are refused") {
  Data<Bf16> data({2, 2, 32, {300, 300}, {1, 1}, 20});
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
  const Case together{7, 1, 64, {300, 90, 517}, {1, 1, 9}};
  Data<Bf16> batch(together);
  EXPECT(batch.run() == nullptr);
  const auto last = [](const Data<Bf16>& data) {
    return std::vector<Bf16>(data.out.end() - data.the.num_heads * data.the.head_dim, data.out.end());
  };
  // The last row of the batch, whose query and keys are moved to a batch of one position.
  Data<Bf16> alone({7, 1, 64, {300, 90, 517}, {1, 1, 1}});
  std::copy_n(batch.query.end() - 7 * 64, 7 * 64, alone.query.end() - 7 * 64);
  EXPECT(alone.run() == nullptr);
  const std::vector<Bf16> a = last(batch), b = last(alone);
  for (size_t i = 0; i < a.size(); ++i) EXPECT(a[i].bits == b[i].bits);
}

TEST("rows in parts have the bits of all at once") {
  const Case shape{4, 2, 64, {300, 90, 517}, {8, 3, 16}, 0, 0};
  Data<Bf16> whole(shape), parts(shape);
  EXPECT(whole.run() == nullptr);
  EXPECT(parts.run(0, 11) == nullptr && parts.run(11, 19) == nullptr && parts.run(19, 27) == nullptr);
  for (size_t i = 0; i < whole.out.size(); ++i) EXPECT(whole.out[i].bits == parts.out[i].bits);
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
  const auto check = [](auto number, const Case& c, double tolerance) {
    using Number = decltype(number);
    check_case<Number>(c, tolerance);
    if (kIsRaceTest) return;
    Data<Number> coded(c), plain(c);
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
