// Copies of runs of rows, and their sums.
#include "ops/attention/span_paths.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>

#include "ops/parallel.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kMostCopies = 4;  // of the batch's tokens, in one round
constexpr int64_t kRangeTokens = 64;

// A run of the batch's tokens and where it lies in the copies.
struct Copy {
  int64_t start, length, offset;
};

std::vector<Copy> copies_of(const Spans& spans, const Round& round) {
  std::vector<Copy> copies;
  for (int64_t span = round.first_span; span < round.end_span; ++span) {
    int64_t offset = round.offset(span);
    if (offset < 0) continue;
    for (const Run& run : path(spans, span)) {
      copies.push_back({run.start, run.length, offset});
      offset += run.length;
    }
  }
  return copies;
}

}  // namespace

std::vector<Round> rounds_of(const Spans& spans) {
  const std::vector<int64_t> before = depths(spans);
  const int64_t budget = kMostCopies * spans.num_tokens();
  std::vector<Round> rounds = {{0, 0, {}, 0}};
  for (int64_t span = 0; span < spans.count(); ++span) {
    const int64_t copied = spans.parent(span) < 0 ? 0 : before[span] + spans.length(span);
    if (copied > 0 && rounds.back().num_copied + copied > budget) rounds.push_back({span, span, {}, 0});
    Round& round = rounds.back();
    round.offsets.push_back(copied == 0 ? -1 : round.num_copied);
    round.num_copied += copied;
    round.end_span = span + 1;
  }
  return rounds;
}

at::Tensor copy_paths(const at::Tensor& x_TKC, const Spans& spans, const Round& round) {
  if (round.num_copied == 0) return {};
  const int64_t row = x_TKC.size(1) * x_TKC.size(2);
  at::Tensor paths = at::empty({round.num_copied, x_TKC.size(1), x_TKC.size(2)}, x_TKC.options());
  const float* from = x_TKC.const_data_ptr<float>();
  float* to = paths.mutable_data_ptr<float>();
  const std::vector<Copy> copies = copies_of(spans, round);
  claim_items(static_cast<int64_t>(copies.size()), round.num_copied * row, [&](int64_t item) {
    const auto& [start, length, offset] = copies[item];
    std::memcpy(to + offset * row, from + start * row, static_cast<size_t>(length * row) * sizeof(float));
  });
  return paths;
}

void add_paths(const at::Tensor& to_TKC, const at::Tensor& paths_NKC, const Spans& spans, const Round& round) {
  if (round.num_copied == 0) return;
  const int64_t row = to_TKC.size(1) * to_TKC.size(2), num_tokens = to_TKC.size(0);
  float* to = to_TKC.mutable_data_ptr<float>();
  const float* from = paths_NKC.const_data_ptr<float>();
  const std::vector<Copy> copies = copies_of(spans, round);
  // One thread owns all sums of a range of tokens.
  claim_items((num_tokens + kRangeTokens - 1) / kRangeTokens, round.num_copied * row, [&](int64_t item) {
    const int64_t begin = item * kRangeTokens, end = std::min(num_tokens, begin + kRangeTokens);
    for (const auto& [start, length, offset] : copies) {
      const int64_t first = std::max(begin, start), last = std::min(end, start + length);
      for (int64_t i = first * row, j = (offset + first - start) * row; i < last * row; ++i, ++j) to[i] += from[j];
    }
  });
}

}  // namespace seekrl::ops
