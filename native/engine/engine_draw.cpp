// What a step draws from its logits, and what sequences make of it.
#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "engine/engine.h"

namespace seekrl::engine {

namespace {

std::exception_ptr nothing_allowed() {
  return std::make_exception_ptr(
      Error(ErrorCode::kRange,
            "generate: expected a token that may follow, got a constraint, badWords or logitBias "
            "that forbid all"));
}

}  // namespace

std::exception_ptr Engine::not_finite(float logprob) {
  std::ostringstream message;
  message << "logits: expected finite numbers, got " << logprob << " as a log-probability: the weights are broken";
  return std::make_exception_ptr(Error(ErrorCode::kRange, message.str()));
}

SampleRequest Engine::request_of(const Sequence& sequence, int64_t num_drafted) const {
  const Span& span = sequence.span;
  const int64_t num_tokens = sequence.num_tokens() - sequence.draft.num_tokens();
  SampleRequest request = {
      &span.options.sampling,       sequence.seed, std::span(sequence.tokens).first(num_tokens + num_drafted),
      num_tokens - span.num_tokens, nullptr,       span.options.wants_entropies,
      span.options.num_top};
  if (drawable_.empty()) return request;
  request.mask = drawable_.data();
  if (drawable_on_gpu_.defined()) {
    request.mask_on_gpu = reinterpret_cast<const uint32_t*>(drawable_on_gpu_.const_data_ptr<int32_t>());
  }
  return request;
}

// Draws what waited for masks that have come; what has lost its cache meanwhile runs again.
void Engine::sample_held() {
  for (const int32_t id : std::exchange(held_, {})) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end() || !found->second->span.held_logits_V.defined()) continue;
    Sequence& sequence = *found->second;
    const bool is_cached = sequence.num_cached == sequence.num_tokens();
    if (is_cached && !sequence.span.options.masks->is_ready()) {
      held_.push_back(id);
      continue;
    }
    try {
      if (is_cached) sample_held(sequence);
    } catch (const c10::OutOfMemoryError&) {
      // Its last token runs again, in a step that shrinks until there is room for the draw.
      scheduler_.truncate(sequence, sequence.num_tokens());
    } catch (...) {
      fail_span(sequence, std::current_exception());
    }
    sequence.span.held_logits_V.reset();
  }
}

void Engine::sample_held(Sequence& sequence) {
  const std::vector<int32_t> mask = sequence.span.options.masks->mask();
  SampleRequest request = request_of(sequence);
  request.hold_to(mask.data());
  const double softcap = decoder_->config().logit_softcap;
  const auto samples = sample(sequence.span.held_logits_V.unsqueeze(0), {request}, softcap, decoder_->logits_part());
  take_samples(sequence, samples.data());
}

// A sequence whose mask has not come keeps its logits, and others of its step draw: its own forward is done.
Engine::Draws Engine::draw(const std::vector<Row>& rows, const at::Tensor& logits_RV) const {
  Draws draws;
  std::vector<SampleRequest> requests;
  std::vector<int64_t> drawn_R;  // rows of logits
  std::deque<std::vector<int32_t>> masks;
  int64_t next = 0;
  for (const Row& row : rows) {
    if (row.num_samples == 0) continue;
    const int64_t first = std::exchange(next, next + row.num_samples);
    const auto& slot = row.sequence->span.options.masks;
    if (slot != nullptr && !slot->is_ready()) {
      draws.held_logits_V.emplace_back(row.sequence, logits_RV[first].clone());
      continue;
    }
    draws.sequences.push_back(row.sequence);
    for (int64_t i = 0; i < row.num_samples; ++i) {
      requests.push_back(request_of(*row.sequence, i));
      drawn_R.push_back(first + i);
    }
    if (slot != nullptr) requests.back().hold_to(masks.emplace_back(slot->mask()).data());
  }
  if (requests.empty()) return draws;
  const bool are_all = std::ssize(requests) == logits_RV.size(0);
  draws.samples = sample(are_all ? logits_RV : logits_RV.index_select(0, at::tensor(drawn_R).to(logits_RV.device())),
                         requests, decoder_->config().logit_softcap, decoder_->logits_part());
  decoder_->parallel().require_whole();
  return draws;
}

void Engine::take_draws(const Draws& draws) {
  for (const auto& [sequence, logits_V] : draws.held_logits_V) {
    sequence->span.held_logits_V = logits_V;
    held_.push_back(sequence->id);
  }
  const Sample* first = draws.samples.data();
  for (Sequence* sequence : draws.sequences) {
    const Sample* own = std::exchange(first, first + 1 + sequence->draft.num_tokens());
    take_samples(*sequence, own);
  }
}

// As many as were drawn from the tokens that they follow: the first, and one after each drafted token that was drawn.
void Engine::take_samples(Sequence& sequence, const Sample* samples) {
  if (sequence.span.options.masks != nullptr) sequence.span.options.masks->clear();
  const std::vector<int64_t> drafted = sequence.draft.take_off(sequence.tokens);
  const auto num_drafted = std::ssize(drafted);
  int64_t num_accepted = 0;
  for (;; ++num_accepted) {
    sequence.num_cached = sequence.num_tokens();
    take_sample(sequence, samples[num_accepted]);
    const bool goes_on = sequence.is_generating() && num_accepted < num_drafted;
    if (!goes_on || samples[num_accepted].token != drafted[num_accepted]) break;
  }
  sequence.draft.learn(num_drafted, num_accepted);
  stats_.num_drafted += num_drafted;
  stats_.num_accepted += num_accepted;
  allow_draft(sequence);
}

void Engine::take_sample(Sequence& sequence, const Sample& sample) {
  if (!std::isfinite(sample.logprob)) {
    fail_span(sequence, not_finite(sample.logprob));
  } else if (sample.token < 0) {
    fail_span(sequence, nothing_allowed());
  } else {
    accept(sequence, sample);
  }
}

// Where kernels give a position the same bits however many are run with it, and no mask is to come for each.
void Engine::allow_draft(Sequence& sequence) {
  const Span& span = sequence.span;
  const bool is_plain = span.num_given == 0 && span.options.masks == nullptr;
  if (!options_.drafts || !decoder_->device().is_cpu() || !is_plain) return sequence.draft.stop();
  sequence.draft.allow(
      std::min(span.options.max_tokens - span.num_tokens, options_.max_tokens - sequence.num_tokens()) - 1);
}

}  // namespace seekrl::engine
