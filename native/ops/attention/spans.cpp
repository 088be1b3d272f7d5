// Checks and walks of a batch's spans.
#include "ops/attention/spans.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace seekrl::ops {

void check_spans(const Spans& spans, int64_t num_tokens) {
  const auto& starts = spans.starts;
  require(!starts.empty() && starts.front() == 0 && starts.back() == num_tokens &&
              std::is_sorted(starts.begin(), starts.end()),
          ErrorCode::kShape, "spans: expected ascending starts from 0 to ", num_tokens);
  require(spans.parents.empty() || static_cast<int64_t>(spans.parents.size()) == spans.count(), ErrorCode::kShape,
          "spans: expected ", spans.count(), " parents, got ", spans.parents.size());
  for (int64_t span = 0; span < spans.count(); ++span) {
    require(spans.parent(span) >= -1 && spans.parent(span) < span, ErrorCode::kShape, "spans: the parent of span ",
            span, ": expected -1 or a span before it, got ", spans.parent(span));
  }
}

std::vector<int64_t> depths(const Spans& spans) {
  std::vector<int64_t> result(spans.count(), 0);
  for (int64_t span = 0; span < spans.count(); ++span) {
    const int64_t parent = spans.parent(span);
    if (parent >= 0) result[span] = result[parent] + spans.length(parent);
  }
  return result;
}

std::vector<int64_t> positions(const Spans& spans) {
  const std::vector<int64_t> before = depths(spans);
  std::vector<int64_t> result(spans.num_tokens());
  for (int64_t span = 0; span < spans.count(); ++span) {
    std::iota(result.begin() + spans.starts[span], result.begin() + spans.starts[span + 1], before[span]);
  }
  return result;
}

std::vector<Run> path(const Spans& spans, int64_t span) {
  std::vector<Run> runs;
  for (; span >= 0; span = spans.parent(span)) runs.push_back({spans.starts[span], spans.length(span)});
  std::reverse(runs.begin(), runs.end());
  return runs;
}

}  // namespace seekrl::ops
