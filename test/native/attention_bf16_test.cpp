// Attention in bf16: that in f32 over rounded numbers, with bits that do not depend on what is computed together.
#include <algorithm>
#include <vector>

#include "attention_span.h"
#include "check.h"
#include "each_isa.h"
#include "emulated_unit.h"
#include "kernels/attention.h"
#include "kernels/cpu/attention/tile_attention.h"
#include "kernels/isa.h"
#include "kernels/products/bf16.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::attend_whole;
using test::Floats;
using test::kRules;
using test::same_bits;
using test::Span;
using test::with_each_isa;

namespace {

// A span's keys and values in pairs; what no token wrote is not a number.
struct Paired {
  std::vector<uint16_t> keys, values;
  std::vector<int32_t> table;
  int64_t block_tokens, head_dim;

  Paired(const Span& span, int64_t block_tokens_) : block_tokens(block_tokens_), head_dim(span.head_dim) {
    const int64_t num_blocks = (span.positions + block_tokens - 1) / block_tokens, size = block_tokens * head_dim;
    keys.assign(num_blocks * size, to_bf16(std::nanf("")));
    values = keys;
    for (int64_t i = 0; i < num_blocks; ++i) table.push_back(static_cast<int32_t>(num_blocks - 1 - i));
    for (int64_t j = 0; j < span.positions; ++j) {
      const int64_t at = table[j / block_tokens] * size;
      put_paired(keys.data() + at, values.data() + at, block_tokens, j % block_tokens, span.keys.data() + j * head_dim,
                 span.values.data() + j * head_dim, head_dim);
    }
  }
  PairedKeyValues source() const {
    return {keys.data(), values.data(), table.data(), block_tokens, block_tokens * head_dim};
  }
};

Floats attend_paired(const Span& span, const Paired& paired, int64_t first, int64_t count, Floats out,
                     Floats* log_sum_exp = nullptr) {
  Floats scratch(attend_scratch_floats(span.positions, span.head_dim));
  attend_bf16(span.rows(out, first, count), paired.source(), span.head_dim, span.rule,
              log_sum_exp == nullptr ? nullptr : log_sum_exp->data(), scratch.data());
  return out;
}

Floats rounded_values(const Floats& x) {
  Floats y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = from_bf16(to_bf16(x[i]));
  return y;
}

std::vector<uint16_t> rounded(const Floats& x) {
  std::vector<uint16_t> y(x.size());
  std::transform(x.begin(), x.end(), y.begin(), to_bf16);
  return y;
}

}  // namespace

TEST("attention in bf16 is that in f32 over rounded queries, keys and values, up to its weights' eight bits") {
  for (const auto& [softcap, window] : kRules) {
    for (const int64_t head_dim : {8, 48, 64, 80}) {
      for (const int64_t positions : {1, 6, 63, 64, 151}) {
        Span span(positions, 3, head_dim, softcap, window);
        const Paired paired(span, 48);
        span.query = rounded_values(span.query);
        span.keys = rounded_values(span.keys);
        span.values = rounded_values(span.values);
        set_isa(Isa::kPlain);
        Floats lse(positions * 3);
        const Floats expected = attend_whole(span, &lse);
        with_each_isa([&] {
          Floats got_lse(positions * 3);
          const Floats got = attend_paired(span, paired, 0, positions, Floats(span.query.size()), &got_lse);
          // Weights that sum to one, each off by up to 2^-9 of itself, times values of up to about four.
          for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 8e-3);
          for (size_t i = 0; i < lse.size(); ++i) EXPECT_NEAR(got_lse[i], lse[i], 2e-6);
        });
      }
    }
  }
}

TEST("in bf16 a query's bits do not depend on the positions computed with it nor on where its keys lie") {
  for (const auto& [softcap, window] : kRules) {
    for (const int64_t head_dim : {40, 64}) {
      const Span span(333, 7, head_dim, softcap, window);
      const Paired paired(span, 64);
      with_each_isa([&] {
        const Floats whole = attend_paired(span, paired, 0, span.positions, Floats(span.query.size()));
        for (const int64_t block_tokens : {16, 48, 128}) {
          const Paired other(span, block_tokens);
          Floats out(span.query.size());
          // A step of one position, of a few and of many.
          for (int64_t first = 0, count = 1; first < span.positions; first += count, count = count * 3 % 101) {
            out = attend_paired(span, other, first, std::min(count, span.positions - first), out);
          }
          EXPECT(same_bits(out, whole));
        }
      });
    }
  }
}

TEST("a matrix unit's tiles give both products, whatever rows there are and wherever tokens lie") {
  const int64_t head_dim = 64, positions = 151, stride = 192;
  for (const auto& [first, end] : {std::pair<int64_t, int64_t>{0, 1}, {0, 151}, {37, 100}}) {
    Span span(positions, 1, head_dim);
    // What no row may see is not a number.
    for (int64_t j = 0; j < positions; ++j) {
      if (j < first / 2 * 2 || j >= even(end)) std::fill_n(span.values.data() + j * head_dim, head_dim, std::nanf(""));
    }
    const std::vector<uint16_t> query = rounded(span.query);
    const auto value = [&](int64_t j, int64_t c) { return from_bf16(to_bf16(span.values[j * head_dim + c])); };
    for (const int64_t rows : {1, 16, 17, 32}) {
      std::vector<uint16_t> weights(rows * stride, 0);
      for (int64_t r = 0; r < rows; ++r) {
        std::transform(span.out_grad.data() + first, span.out_grad.data() + end, weights.data() + r * stride + first,
                       [r](float x) { return to_bf16(x + static_cast<float>(r)); });
      }
      for (const int64_t block_tokens : {16, 48, 64}) {
        const Paired paired(span, block_tokens);
        Floats scores(rows * stride), mixed(rows * head_dim);
        score_tokens<test::EmulatedUnit>(scores.data(), stride, query.data(), rows, paired.source(), first, end,
                                         head_dim, 0.125f);
        mix_tokens<test::EmulatedUnit>(mixed.data(), head_dim, weights.data(), stride, rows, paired.source(),
                                       {first / 2 * 2, even(end)}, first, end, head_dim);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t j = first; j < end; ++j) {
            double sum = 0;
            for (int64_t c = 0; c < head_dim; ++c) {
              sum += static_cast<double>(from_bf16(query[r * head_dim + c])) *
                     from_bf16(to_bf16(span.keys[j * head_dim + c]));
            }
            EXPECT_NEAR(scores[r * stride + j], sum / 8, 1e-5);
          }
          for (int64_t c = 0; c < head_dim; ++c) {
            double sum = 0;
            for (int64_t j = first; j < end; ++j) {
              sum += static_cast<double>(from_bf16(weights[r * stride + j])) * value(j, c);
            }
            // Up to 151 terms of up to 33 each.
            EXPECT_NEAR(mixed[r * head_dim + c], sum, 2e-3);
          }
        }
      }
    }
  }
}

TEST("an odd last token's pair is read as zeros, whatever its place held before") {
  const Span span(7, 2, 16), shorter(5, 2, 16);
  const Paired clean(shorter, 16);
  Paired used(span, 16);
  // What a sequence that was not finite left behind.
  std::fill(used.values.begin(), used.values.end(), to_bf16(std::nanf("")));
  for (int64_t j = 0; j < 5; ++j) {
    put_paired(used.keys.data(), used.values.data(), 16, j, shorter.keys.data() + j * 16,
               shorter.values.data() + j * 16, 16);
  }
  with_each_isa([&] {
    const Floats expected = attend_paired(shorter, clean, 0, 5, Floats(shorter.query.size()));
    EXPECT(same_bits(attend_paired(shorter, used, 0, 5, Floats(shorter.query.size())), expected));
    for (const float value : expected) EXPECT(std::isfinite(value));
  });
}
