// One growing list of tokens, its cached keys and values, and the span that is being sampled.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "engine/draft.h"
#include "engine/memory/prefix_cache.h"
#include "engine/memory/swap.h"
#include "engine/sampling/mask_slot.h"
#include "engine/sampling/options.h"
#include "engine/stop.h"
#include "kernels/sampling.h"
#include "model/adapters/adapter.h"

namespace seekrl::engine {

// A waiting sequence keeps its blocks and takes no part in a step. A running one is in prefill while more than one
// of its tokens is not cached, else in decode. A closed one only lives on until its forks have taken its blocks.
enum class SequenceState { kWaiting, kRunning, kClosed };

// Why a span ended; the order is known to lib/engine.
enum class Finish : uint8_t { kNone, kLength, kStopId, kStopString, kAborted, kFailed };

struct GenerateOptions {
  int64_t max_tokens = 0;
  SamplingOptions sampling;
  std::vector<int64_t> stop_ids;
  std::shared_ptr<const StopStrings> stop_strings;  // null without
  bool is_streamed = false;                         // told of at each step, not only at the end
  bool wants_entropies = false;
  int64_t num_top = 0;              // most likely tokens to list for each of the span's
  std::shared_ptr<MaskSlot> masks;  // of a constrained span, one for each of its tokens; null without
};

// The tokens of one generate call; those already told of are gone from the lists. Or those of one score call, which
// end the sequence while they are scored and are taken off it then; `logprobs` and `entropies` grow by those done.
struct Span {
  GenerateOptions options;
  StopMatcher matcher;
  int64_t num_tokens = 0;
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<float> entropies;        // when they are wanted
  std::vector<kernels::TopToken> top;  // [T, num_top]
  int64_t num_given = 0;               // tokens to score; none are sampled then
  int64_t weights_version = 0;         // of the last token
  // Of a token whose mask was not there when they were made: it is drawn once the mask is. All tokens are cached then.
  at::Tensor held_logits_V;
};

struct Sequence {
  int32_t id = 0;
  uint64_t seed = 0;
  SequenceState state = SequenceState::kWaiting;
  std::vector<int64_t> tokens;
  std::vector<int32_t> blocks;
  std::vector<PrefixCache::Name> prefixes;  // of its first blocks, as far as they are full
  int64_t num_cached = 0;  // leading tokens whose keys and values are in the blocks; fewer than there are between steps
  // Those that were there when the span began, found or its own; -1 until the span has a row. Of one that runs for the
  // sake of forks: when it began to.
  int64_t num_reused = -1;
  bool has_waited = false;  // in this span, for its parent to run what they share
  // On the host while it has no blocks: those of its first num_swapped tokens, or null.
  std::shared_ptr<const SwappedBlocks> swapped;
  int64_t num_swapped = 0;
  std::shared_ptr<const model::Adapter> adapter;  // null without one
  int64_t weights_version = 0;                    // of model and adapter together, that the blocks were computed with
  int64_t last_step = -1;                         // the scheduler's number of the last step it took part in
  Span span;
  Draft draft;               // its tokens stand at the end of `tokens` during a step, never between two
  std::exception_ptr error;  // of a command that was not carried out: the tokens are not what the caller takes them for

  // Fork: the first `num_shared` tokens are the parent's, taken from its blocks once it has cached them. Until then the
  // parent is kept, closed or not.
  std::shared_ptr<Sequence> parent;
  int64_t num_shared = 0;
  bool waits_for_parent = false;
  int64_t num_forks = 0;          // that have not taken their share
  int64_t num_waiting_forks = 0;  // of these, those that wait for it
  int64_t num_wanted = 0;         // leading tokens the waiting ones want cached

  // What stands before its first block in the prefix cache: nothing, or an adapter as it is now.
  PrefixCache::Name root() const {
    if (adapter == nullptr) return PrefixCache::kNothing;
    constexpr int64_t kVersions = int64_t{1} << 32;
    return -(adapter->id() * kVersions + adapter->version());
  }
  int64_t num_tokens() const { return static_cast<int64_t>(tokens.size()); }
  bool is_generating() const { return state == SequenceState::kRunning; }
  bool is_scoring() const { return is_generating() && span.num_given > 0; }
  // Of the tokens to score, those that have their score once so many leading tokens are cached.
  int64_t num_scored(int64_t num_cached_then) const {
    const int64_t num_before = num_tokens() - span.num_given;
    return std::max(static_cast<int64_t>(span.logprobs.size()), num_cached_then - num_before + 1);
  }
  bool is_active() const { return is_generating() || num_waiting_forks > 0; }
  // Leading tokens the next steps must cache: all of them to sample, all but the last to score, else what forks wait
  // for.
  int64_t num_needed() const { return is_generating() ? num_tokens() - (is_scoring() ? 1 : 0) : num_wanted; }
  // Leading tokens that need not be run when their keys and values are found; fewer than are needed. The last one is
  // run for its logits, as is each before one to score.
  int64_t num_reusable() const {
    if (!is_generating()) return num_wanted - 1;
    return num_tokens() - 1 - (is_scoring() ? span.num_given - static_cast<int64_t>(span.logprobs.size()) : 0);
  }
  int64_t num_pending() const { return num_needed() - num_cached; }
  bool is_decoding() const { return is_generating() && num_pending() == 1; }
};

}  // namespace seekrl::engine
