// The step: choose rows, run them, sample, report.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/idle_memory.h"
#include "engine/engine.h"
#include "ops/activation_memory.h"
#include "ops/gpu/memory.h"

namespace seekrl::engine {

namespace {

std::exception_ptr too_little_memory(const char* message) {
  std::ostringstream text;
  text << "generate: expected room for one token in the GPU's memory beside weights and cache; give the cache less "
          "(cacheBytes) or close what else is on the GPU: "
       << message;
  return std::make_exception_ptr(Error(ErrorCode::kMemory, text.str()));
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
    take_cache();
    check_fits();
    run_batch();
  } catch (const c10::OutOfMemoryError& error) {
    shrink_step(error.what_without_backtrace());
  } catch (...) {
    fail_batch(std::current_exception());
  }
  erase_closed();
}

// Rows keep the blocks that were found for them; nothing else has changed. What is under way runs again.
void Engine::shrink_step(const char* message) {
  if (flight_) flight_->release();
  const std::vector<Row>& rows = scheduler_.rows();
  int64_t num_tokens = 0;
  for (const Row& row : rows) {
    row.sequence->draft.take_off(row.sequence->tokens);
    num_tokens += row.num_tokens;
  }
  ops::release_cached(decoder_->device());
  ++stats_.num_out_of_memory;
  if (budget_.shrink(num_tokens)) return scheduler_.set_limits(budget_.limits());
  const std::exception_ptr error = too_little_memory(message);
  if (rows.empty()) return fail_batch(error);
  fail_row(*rows.front().sequence, error);
}

void Engine::run_batch() {
  if (flight_ && flight_->is_open()) return continue_flight();
  drop_stale_caches();
  sample_held();
  const std::vector<Row>& rows = scheduler_.next();
  if (rows.empty()) return;
  if (flight_ && Flight::can_carry(rows)) return start_flight(rows);
  const StepOutput output = runner_.run(rows);
  const Draws draws = output.logits_RV.defined() ? draw(rows, output.logits_RV) : Draws{};
  // From here on nothing needs a GPU's memory.
  ++stats_.num_steps;
  stats_.num_rows += static_cast<int64_t>(rows.size());
  for (const Row& row : rows) {
    row.sequence->num_cached += row.num_tokens;
    stats_.num_prefilled += row.num_tokens - row.num_samples;
  }
  take_draws(draws);
  if (output.logprob_N.defined()) take_scores(rows, output);
  scheduler_.remember();
  budget_.grow();
  scheduler_.set_limits(budget_.limits());
}

void Engine::take_scores(const std::vector<Row>& rows, const StepOutput& output) {
  const float *logprob = output.logprob_N.const_data_ptr<float>(), *entropy = output.entropy_N.const_data_ptr<float>();
  const kernels::TopToken* top = output.top.data();
  for (const Row& row : rows) {
    Sequence& sequence = *row.sequence;
    if (!sequence.is_scoring()) continue;
    Span& span = sequence.span;
    const int64_t count = sequence.num_scored(sequence.num_cached) - static_cast<int64_t>(span.logprobs.size());
    const float* const end = logprob + count;
    const float* const broken = std::find_if_not(logprob, end, [](float each) { return std::isfinite(each); });
    span.logprobs.insert(span.logprobs.end(), logprob, end);
    span.entropies.insert(span.entropies.end(), entropy, entropy + count);
    const int64_t num_listed = count * span.options.num_top;
    span.top.insert(span.top.end(), top, top + num_listed);
    top += num_listed;
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
  // The tokens of one piece of news are of one version.
  if (!span.tokens.empty() && span.weights_version != sequence.weights_version) {
    tell(sequence, {sequence.id, 0, Finish::kNone, -1, 0, 0});
  }
  span.weights_version = sequence.weights_version;
  ++span.num_tokens;
  ++stats_.num_generated;
  sequence.tokens.push_back(sample.token);
  span.tokens.push_back(static_cast<int32_t>(sample.token));
  span.logprobs.push_back(sample.logprob);
  if (span.options.wants_entropies) span.entropies.push_back(sample.entropy);
  span.top.insert(span.top.end(), sample.top.begin(), sample.top.end());
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
  if (flight_) flight_->leave(sequence);
  sequence.last_step = -1;
  scheduler_.truncate(sequence, sequence.num_tokens());
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
  news.num_reused = static_cast<int32_t>(std::max<int64_t>(0, sequence.num_reused));
  news.num_top = static_cast<int32_t>(span.options.num_top);
  report_.news.push_back(news);
  report_.tokens.insert(report_.tokens.end(), span.tokens.begin(), span.tokens.end());
  report_.logprobs.insert(report_.logprobs.end(), span.logprobs.begin(), span.logprobs.end());
  if (span.options.wants_entropies) {
    report_.entropies.resize(report_.tokens.size());
    std::copy(span.entropies.begin(), span.entropies.end(), report_.entropies.end() - news.num_tokens);
  }
  report_.top.insert(report_.top.end(), span.top.begin(), span.top.end());
  span.tokens.clear();
  span.logprobs.clear();
  span.top.clear();
  span.entropies.clear();
}

}  // namespace seekrl::engine
