// The step: choose rows, run them, sample, report.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/idle_memory.h"
#include "engine/engine.h"
#include "ops/activation_memory.h"

namespace seekrl::engine {

namespace {

std::exception_ptr not_finite(float logprob) {
  std::ostringstream message;
  message << "logits: expected finite numbers, got " << logprob << " as a log-probability: the weights are broken";
  return std::make_exception_ptr(Error(ErrorCode::kRange, message.str()));
}

std::exception_ptr nothing_allowed() {
  return std::make_exception_ptr(
      Error(ErrorCode::kRange,
            "generate: expected a token that may follow, got a constraint, badWords or logitBias "
            "that forbid all"));
}

// Of the token after its tokens and the first `num_drafted` of its draft.
SampleRequest request_of(const Sequence& sequence, int64_t num_drafted = 0) {
  const Span& span = sequence.span;
  const int64_t num_tokens = sequence.num_tokens() - sequence.draft.num_tokens();
  return {&span.options.sampling,       sequence.seed, std::span(sequence.tokens).first(num_tokens + num_drafted),
          num_tokens - span.num_tokens, nullptr,       span.options.wants_entropies};
}

}  // namespace

// Keys and values made by other weights are worth nothing; each sequence recomputes its own when it runs again.
void Engine::drop_stale_caches() {
  if (std::exchange(weights_version_, decoder_->weights_version()) != decoder_->weights_version()) pool_.forget_all();
  for (auto& [id, sequence] : sequences_) {
    const int64_t version = version_of(*sequence);
    if (std::exchange(sequence->weights_version, version) != version) scheduler_.drop_cache(*sequence);
  }
}

bool Engine::has_work() const {
  if (num_running_ > std::ssize(held_)) return true;
  return std::any_of(held_.begin(), held_.end(), [this](int32_t id) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end()) return true;
    const Span& span = found->second->span;
    return !span.held_logits_V.defined() || span.options.masks->is_ready();
  });
}

void Engine::step() {
  const at::NoGradGuard no_grad;
  enter(Work::kGenerate);
  const ops::ActivationScope activations;
  try {
    run_batch();
  } catch (...) {
    fail_batch(std::current_exception());
  }
  erase_closed();
}

void Engine::run_batch() {
  drop_stale_caches();
  sample_held();
  const std::vector<Row>& rows = scheduler_.next();
  if (rows.empty()) return;
  const StepOutput output = runner_.run(rows);
  ++stats_.num_steps;
  stats_.num_rows += static_cast<int64_t>(rows.size());
  for (const Row& row : rows) stats_.num_prefilled += row.num_tokens - row.num_samples;
  if (output.logits_RV.defined()) sample_rows(rows, output.logits_RV);
  if (output.logprob_N.defined()) take_scores(rows, output);
  scheduler_.remember();
}

// The masks are all that is waited for: others of its step draw, and the sequence's own forward is done.
bool Engine::must_hold(Sequence& sequence, const at::Tensor& logits_V) {
  const std::shared_ptr<MaskSlot>& masks = sequence.span.options.masks;
  if (masks == nullptr || masks->is_ready()) return false;
  sequence.span.held_logits_V = logits_V.clone();
  held_.push_back(sequence.id);
  return true;
}

// Draws what waited for masks that have come; what has lost its cache meanwhile runs again.
void Engine::sample_held() {
  for (const int32_t id : std::exchange(held_, {})) {
    const auto found = sequences_.find(id);
    if (found == sequences_.end() || !found->second->span.held_logits_V.defined()) continue;
    Sequence& sequence = *found->second;
    if (sequence.num_cached == sequence.num_tokens() && !sequence.span.options.masks->is_ready()) {
      held_.push_back(id);
      continue;
    }
    const at::Tensor logits_V = std::exchange(sequence.span.held_logits_V, {});
    if (sequence.num_cached < sequence.num_tokens()) continue;
    try {
      const std::vector<int32_t> mask = sequence.span.options.masks->take();
      SampleRequest request = request_of(sequence);
      const double softcap = decoder_->config().logit_softcap;
      request.mask = mask.data();
      take_samples(sequence, sample(logits_V.unsqueeze(0), {request}, softcap).data());
    } catch (...) {
      fail_span(sequence, std::current_exception());
    }
  }
}

void Engine::sample_rows(const std::vector<Row>& rows, const at::Tensor& logits_RV) {
  std::vector<SampleRequest> requests;
  std::vector<Sequence*> sampling;
  std::vector<int64_t> drawn_R;  // rows of logits
  std::deque<std::vector<int32_t>> masks;
  int64_t next = 0;
  for (const Row& row : rows) {
    if (row.num_samples == 0) continue;
    const int64_t first = std::exchange(next, next + row.num_samples);
    if (must_hold(*row.sequence, logits_RV[first])) continue;
    sampling.push_back(row.sequence);
    for (int64_t i = 0; i < row.num_samples; ++i) {
      requests.push_back(request_of(*row.sequence, i));
      drawn_R.push_back(first + i);
    }
    if (row.sequence->span.options.masks == nullptr) continue;
    masks.push_back(row.sequence->span.options.masks->take());
    requests.back().mask = masks.back().data();
  }
  if (requests.empty()) return;
  const bool are_all = std::ssize(requests) == logits_RV.size(0);
  const auto samples =
      sample(are_all ? logits_RV : logits_RV.index_select(0, at::tensor(drawn_R).to(logits_RV.device())), requests,
             decoder_->config().logit_softcap);
  const Sample* first = samples.data();
  for (Sequence* sequence : sampling) {
    const Sample* own = std::exchange(first, first + 1 + sequence->draft.num_tokens());
    take_samples(*sequence, own);
  }
}

// As many as were drawn from the tokens that they follow: the first, and one after each drafted token that was drawn.
void Engine::take_samples(Sequence& sequence, const Sample* samples) {
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

void Engine::take_scores(const std::vector<Row>& rows, const StepOutput& output) {
  const float *logprob = output.logprob_N.const_data_ptr<float>(), *entropy = output.entropy_N.const_data_ptr<float>();
  for (const Row& row : rows) {
    Sequence& sequence = *row.sequence;
    if (!sequence.is_scoring()) continue;
    Span& span = sequence.span;
    const int64_t count = sequence.num_scored(sequence.num_cached) - static_cast<int64_t>(span.logprobs.size());
    const float* const end = logprob + count;
    const float* const broken = std::find_if_not(logprob, end, [](float each) { return std::isfinite(each); });
    span.logprobs.insert(span.logprobs.end(), logprob, end);
    span.entropies.insert(span.entropies.end(), entropy, entropy + count);
    logprob = end;
    entropy += count;
    if (broken != end) {
      fail_span(sequence, not_finite(*broken));
    } else if (sequence.num_pending() == 0) {
      finish(sequence, {sequence.id, 0, Finish::kLength, -1, 0, 0});
    }
  }
}

void Engine::accept(Sequence& sequence, const Sample& sample) {
  Span& span = sequence.span;
  if (span.num_tokens++ == 0) span.weights_version = sequence.weights_version;
  ++stats_.num_generated;
  sequence.tokens.push_back(sample.token);
  span.tokens.push_back(static_cast<int32_t>(sample.token));
  span.logprobs.push_back(sample.logprob);
  if (span.options.wants_entropies) span.entropies.push_back(sample.entropy);
  News news{sequence.id, 0, Finish::kNone, -1, 0, 0};
  const auto& stop_ids = span.options.stop_ids;
  const bool is_last = span.num_tokens == span.options.max_tokens || sequence.num_tokens() >= options_.max_tokens;
  if (std::find(stop_ids.begin(), stop_ids.end(), sample.token) != stop_ids.end()) {
    news.finish = Finish::kStopId;
  } else if (const auto match = span.matcher.push(token_bytes_.of(sample.token))) {
    news.finish = Finish::kStopString;
    news.stop_index = match->string_index;
    news.cut_bytes = match->cut_bytes;
  } else if (is_last) {
    news.finish = Finish::kLength;
  }
  if (news.finish != Finish::kNone) {
    finish(sequence, news);
  } else if (span.options.is_streamed) {
    tell(sequence, news);
  }
}

void Engine::finish(Sequence& sequence, News news) {
  Span& span = sequence.span;
  span.held_logits_V.reset();
  sequence.draft.take_off(sequence.tokens);
  if (sequence.num_cached == sequence.num_tokens()) scheduler_.truncate(sequence, sequence.num_tokens());
  if (sequence.is_scoring()) {
    const auto given = sequence.tokens.end() - span.num_given;
    span.tokens.assign(given, given + static_cast<int64_t>(span.logprobs.size()));
    span.num_tokens = static_cast<int64_t>(span.tokens.size());
    span.weights_version = sequence.weights_version;
    scheduler_.truncate(sequence, sequence.num_tokens() - span.num_given);
  }
  sequence.state = SequenceState::kWaiting;
  scheduler_.deactivate(sequence);
  --num_running_;
  tell(sequence, news);
}

void Engine::tell(Sequence& sequence, News news) {
  Span& span = sequence.span;
  news.num_tokens = static_cast<int32_t>(span.tokens.size());
  news.weights_version = span.num_tokens == 0 ? version_of(sequence) : span.weights_version;
  report_.news.push_back(news);
  report_.tokens.insert(report_.tokens.end(), span.tokens.begin(), span.tokens.end());
  report_.logprobs.insert(report_.logprobs.end(), span.logprobs.begin(), span.logprobs.end());
  if (span.options.wants_entropies) {
    report_.entropies.resize(report_.tokens.size());
    std::copy(span.entropies.begin(), span.entropies.end(), report_.entropies.end() - news.num_tokens);
  }
  span.tokens.clear();
  span.logprobs.clear();
  span.entropies.clear();
}

}  // namespace seekrl::engine
