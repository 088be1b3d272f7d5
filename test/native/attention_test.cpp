// Attention: same bits for training's contiguous spans and the engine's blocks, whatever is computed together.
#include "kernels/attention.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "attention_span.h"
#include "check.h"
#include "each_isa.h"
#include "kernels/isa.h"

using namespace seekrl;
using namespace seekrl::kernels;
using test::attend_whole;
using test::Floats;
using test::kRules;
using test::same_bits;
using test::Span;
using test::with_each_isa;

namespace {

bool same_bits(const float* a, const float* b, int64_t count) { return std::memcmp(a, b, count * sizeof(float)) == 0; }

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
