// Attention: same bits for training's contiguous spans and the engine's blocks, whatever is computed together.
#include "kernels/attention.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "each_isa.h"
#include "kernels/isa.h"
#include "kernels/products/bf16.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::same_bits;
using test::with_each_isa;

namespace {

using Floats = std::vector<float>;

Floats random_floats(int64_t count, uint64_t stream) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(normal_pair(11, stream, i).first);
  return values;
}

bool same_bits(const float* a, const float* b, int64_t count) { return std::memcmp(a, b, count * sizeof(float)) == 0; }

// One key head's span: T positions, G query heads, C floats a head.
struct Span {
  int64_t positions, heads, head_dim;
  ScoreRule rule;
  Floats query, keys, values, out_grad;

  Span(int64_t positions_, int64_t heads_, int64_t head_dim_, float softcap = 0, int64_t window = 0)
      : positions(positions_),
        heads(heads_),
        head_dim(head_dim_),
        rule{1.0f / std::sqrt(static_cast<float>(head_dim)), softcap, window},
        query(random_floats(positions * heads * head_dim, 1)),
        keys(random_floats(positions * head_dim, 2)),
        values(random_floats(positions * head_dim, 3)),
        out_grad(random_floats(positions * heads * head_dim, 4)) {}

  QueryRows rows(Floats& out, int64_t first, int64_t count) const {
    const int64_t offset = first * heads * head_dim;
    return {out.data() + offset, query.data() + offset, count, heads, heads * head_dim, head_dim, first + 1};
  }
  KeyValues source() const { return {keys.data(), values.data(), nullptr, 0, 0, head_dim}; }
};

Floats attend_whole(const Span& span, Floats* log_sum_exp = nullptr) {
  Floats out(span.query.size()), scratch(attend_scratch_floats(span.positions, span.head_dim));
  attend(span.rows(out, 0, span.positions), span.source(), span.head_dim, span.rule,
         log_sum_exp == nullptr ? nullptr : log_sum_exp->data(), scratch.data());
  return out;
}

// Softcap and window of the models that have them, one alone and both.
struct Rule {
  float softcap;
  int64_t window;
};
constexpr Rule kRules[] = {{0, 0}, {0, 1}, {0, 37}, {2.0f, 0}, {2.0f, 70}};

}  // namespace

TEST("attention has the same bits on every instruction set") {
  for (const auto& [softcap, window] : kRules) {
    for (const int64_t head_dim : {8, 32, 48, 80}) {
      for (const int64_t positions : {1, 5, 63, 64, 150}) {
        const Span span(positions, 3, head_dim, softcap, window);
        set_isa(Isa::kPlain);
        Floats lse(positions * 3);
        const Floats expected = attend_whole(span, &lse);
        with_each_isa([&] {
          Floats got_lse(positions * 3);
          const Floats got = attend_whole(span, &got_lse);
          EXPECT(same_bits(got.data(), expected.data(), static_cast<int64_t>(got.size())));
          for (size_t i = 0; i < lse.size(); ++i) EXPECT_NEAR(got_lse[i], lse[i], 1e-6);
        });
      }
    }
  }
}

TEST("a query's attention does not depend on the positions computed with it") {
  for (const auto& [softcap, window] : kRules) {
    const Span span(1300, 2, 32, softcap, window);
    const Floats whole = attend_whole(span);
    Floats alone(whole.size()), scratch(attend_scratch_floats(span.positions, span.head_dim));
    for (int64_t p = 0; p < span.positions; p += 97) {
      attend(span.rows(alone, p, 1), span.source(), span.head_dim, span.rule, nullptr, scratch.data());
      const int64_t offset = p * span.heads * span.head_dim;
      EXPECT(same_bits(alone.data() + offset, whole.data() + offset, span.heads * span.head_dim));
    }
  }
}

TEST("attention over blocks has the bits of attention over contiguous keys") {
  for (const auto& [softcap, window] : kRules) {
    const Span span(203, 4, 64, softcap, window);
    const Floats whole = attend_whole(span);
    with_each_isa([&] {
      for (const int64_t block_tokens : {1, 7, 16, 64}) {
        const int64_t num_blocks = (span.positions + block_tokens - 1) / block_tokens;
        const int64_t token_stride = 3 * span.head_dim, block_stride = block_tokens * token_stride;
        Floats keys(num_blocks * 2 * block_stride), values(keys.size());
        std::vector<int32_t> table(num_blocks);
        for (int64_t i = 0; i < num_blocks; ++i) table[i] = static_cast<int32_t>(2 * (num_blocks - 1 - i));
        for (int64_t j = 0; j < span.positions; ++j) {
          const int64_t at = table[j / block_tokens] * block_stride + j % block_tokens * token_stride;
          std::copy_n(span.keys.data() + j * span.head_dim, span.head_dim, keys.data() + at);
          std::copy_n(span.values.data() + j * span.head_dim, span.head_dim, values.data() + at);
        }
        const KeyValues source = {keys.data(), values.data(), table.data(), block_tokens, block_stride, token_stride};
        Floats out(whole.size()), scratch(attend_scratch_floats(span.positions, span.head_dim));
        attend(span.rows(out, 0, 100), source, span.head_dim, span.rule, nullptr, scratch.data());
        for (int64_t p = 100; p < span.positions; ++p) {
          attend(span.rows(out, p, 1), source, span.head_dim, span.rule, nullptr, scratch.data());
        }
        EXPECT(same_bits(out.data(), whole.data(), static_cast<int64_t>(whole.size())));
      }
    });
  }
}

TEST("keys that lie by channel give the bits of keys that lie by token") {
  for (const auto& [softcap, window] : kRules) {
    const Span span(203, 4, 64, softcap, window);
    const Floats whole = attend_whole(span);
    with_each_isa([&] {
      for (const int64_t block_tokens : {16, 48, 64}) {
        const int64_t num_blocks = (span.positions + block_tokens - 1) / block_tokens;
        const int64_t block_stride = block_tokens * span.head_dim;
        // What lies beyond the last token must not matter.
        Floats keys(num_blocks * block_stride, std::nanf("")), values(num_blocks * block_stride);
        std::vector<int32_t> table(num_blocks);
        for (int64_t i = 0; i < num_blocks; ++i) table[i] = static_cast<int32_t>(num_blocks - 1 - i);
        for (int64_t j = 0; j < span.positions; ++j) {
          const int64_t block = table[j / block_tokens] * block_stride, place = j % block_tokens;
          for (int64_t c = 0; c < span.head_dim; ++c) {
            keys[block + c * block_tokens + place] = span.keys[j * span.head_dim + c];
            values[block + place * span.head_dim + c] = span.values[j * span.head_dim + c];
          }
        }
        const KeyValues source = {keys.data(),  values.data(), table.data(), block_tokens,
                                  block_stride, span.head_dim, true};
        Floats out(whole.size()), scratch(attend_scratch_floats(span.positions, span.head_dim));
        attend(span.rows(out, 0, 100), source, span.head_dim, span.rule, nullptr, scratch.data());
        for (int64_t p = 100; p < span.positions; ++p) {
          attend(span.rows(out, p, 1), source, span.head_dim, span.rule, nullptr, scratch.data());
        }
        EXPECT(same_bits(out.data(), whole.data(), static_cast<int64_t>(whole.size())));
      }
    });
  }
}

TEST("attention's gradients match the reference") {
  for (const auto& [softcap, window] : kRules) {
    for (const int64_t head_dim : {8, 32, 80}) {
      for (const int64_t positions : {1, 9, 130}) {
        const Span span(positions, 2, head_dim, softcap, window);
        Floats lse(positions * 2);
        Floats out = attend_whole(span, &lse);
        const QueryRows rows = span.rows(out, 0, positions);
        Floats scratch(attend_backward_scratch_floats(positions, head_dim));
        std::vector<Floats> expected;
        with_each_isa([&] {
          std::vector<Floats> got = {Floats(span.query.size()), Floats(span.keys.size()), Floats(span.keys.size())};
          attend_backward(rows, span.source(),
                          {span.out_grad.data(), lse.data(), got[0].data(), got[1].data(), got[2].data()}, head_dim,
                          span.rule, scratch.data());
          if (expected.empty()) expected = got;
          // Sums of up to 130 terms of size about one, in another order.
          for (int which = 0; which < 3; ++which) {
            for (size_t i = 0; i < got[which].size(); ++i) EXPECT_NEAR(got[which][i], expected[which][i], 2e-5);
          }
        });
      }
    }
  }
}

TEST("attention that is not causal sees every key from every position, and may write over its queries") {
  const Span span(150, 2, 48);
  // The last position of a causal span sees all keys: every row, placed last in turn, is the truth.
  Floats expected(span.query.size()), scratch(attend_scratch_floats(span.positions, span.head_dim));
  for (int64_t p = 0; p < span.positions; ++p) {
    QueryRows row = span.rows(expected, p, 1);
    row.num_keys = span.positions;
    set_isa(Isa::kPlain);
    attend(row, span.source(), span.head_dim, span.rule, nullptr, scratch.data());
  }
  with_each_isa([&] {
    Floats in_place = span.query;
    QueryRows rows = span.rows(in_place, 0, span.positions);
    rows.query = in_place.data();
    rows.num_keys = span.positions;
    rows.is_causal = false;
    attend(rows, span.source(), span.head_dim, span.rule, nullptr, scratch.data());
    EXPECT(same_bits(in_place.data(), expected.data(), static_cast<int64_t>(expected.size())));
  });
}

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
