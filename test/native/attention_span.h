// A span of queries, keys and values for the tests of attention.
#pragma once

#include <cmath>
#include <cstdint>

#include "floats.h"
#include "kernels/attention.h"

namespace seekrl::test {

using kernels::KeyValues;
using kernels::QueryRows;
using kernels::ScoreRule;

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

inline Floats attend_whole(const Span& span, Floats* log_sum_exp = nullptr) {
  Floats out(span.query.size()), scratch(kernels::attend_scratch_floats(span.positions, span.head_dim));
  kernels::attend(span.rows(out, 0, span.positions), span.source(), span.head_dim, span.rule,
                  log_sum_exp == nullptr ? nullptr : log_sum_exp->data(), scratch.data());
  return out;
}

// Softcap and window of the models that have them, one alone and both.
struct Rule {
  float softcap;
  int64_t window;
};
inline constexpr Rule kRules[] = {{0, 0}, {0, 1}, {0, 37}, {2.0f, 0}, {2.0f, 70}};

}  // namespace seekrl::test
