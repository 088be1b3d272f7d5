// How the tokens of a packed batch fall into spans, and which spans continue others.
#pragma once

#include <cstdint>
#include <vector>

namespace seekrl::ops {

// A span's tokens see those of the spans it continues, from the first to the last, and then its own up to themselves.
// Texts that begin alike are thus a tree, in which each token stands once.
struct Spans {
  std::vector<int64_t> starts;  // S + 1 offsets, from 0 to T
  // [S], the span before it that a span continues, or -1; empty when none continues another.
  std::vector<int64_t> parents;

  int64_t count() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t num_tokens() const { return starts.back(); }
  int64_t length(int64_t span) const { return starts[span + 1] - starts[span]; }
  int64_t parent(int64_t span) const { return parents.empty() ? -1 : parents[span]; }
};

// ERR_SHAPE unless the starts ascend from 0 to num_tokens and each parent stands before its span.
void check_spans(const Spans& spans, int64_t num_tokens);

// The tokens in front of each span, those of all it continues, [S].
std::vector<int64_t> depths(const Spans& spans);

// The position of each token in its text, [T].
std::vector<int64_t> positions(const Spans& spans);

// Consecutive tokens of the batch.
struct Run {
  int64_t start, length;
};

// What a span's last token sees, from the first token on.
std::vector<Run> path(const Spans& spans, int64_t span);

}  // namespace seekrl::ops
