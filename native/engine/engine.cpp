// The step: choose rows, run them, sample, report.
#include "engine/engine.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/error.h"

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

// Its next token's.
SampleRequest request_of(const Sequence& sequence) {
  const Span& span = sequence.span;
  return {&span.options.sampling,      sequence.seed, sequence.tokens, sequence.num_tokens() - span.num_tokens, nullptr,
          span.options.wants_entropies};
}

}  // namespace

Engine::Engine(std::shared_ptr<const model::Decoder> decoder, EngineOptions options, TokenBytes token_bytes)
    : decoder_(decoder),
      options_(options),
      token_bytes_(std::move(token_bytes)),
      pool_(decoder->config(), options.num_blocks, options.block_tokens, decoder->dtype(), decoder->device()),
      scheduler_(pool_, sequences_, options.limits),
      runner_(decoder, pool_),
      weights_version_(decoder->weights_version()) {}

Sequence& Engine::open_sequence(int32_t id) {
  const auto found = sequences_.find(id);
  require(found != sequences_.end() && found->second->state != SequenceState::kClosed, ErrorCode::kState, "sequence ",
          id, ": closed");
  return *found->second;
}

void Engine::check_ids(const std::vector<int64_t>& tokens) const {
  const int64_t vocab_size = decoder_->config().vocab_size;
  for (const int64_t id : tokens) {
    require(id >= 0 && id < vocab_size, ErrorCode::kRange, "ids: expected 0 to ", vocab_size - 1, ", got ", id);
  }
}

void Engine::check_sampling(const SamplingOptions& options) const {
  for (const std::vector<int64_t>& word : options.bad_words) check_ids(word);
  for (const auto& [token, bias] : options.logit_bias) check_ids({token});
}

void Engine::open(int32_t id, std::vector<int64_t> tokens, uint64_t seed) {
  check_ids(tokens);
  auto sequence = std::make_shared<Sequence>();
  sequence->id = id;
  sequence->seed = seed;
  sequence->tokens = std::move(tokens);
  sequences_.emplace(id, std::move(sequence));
}

void Engine::fork(int32_t id, int32_t child, uint64_t seed) {
  const Sequence& parent = open_sequence(id);
  open(child, parent.tokens, seed);
  Sequence& forked = *sequences_.at(child);
  forked.num_shared = parent.num_tokens() - 1;
  if (forked.num_shared <= 0) return;
  forked.parent = sequences_.at(id);
  ++forked.parent->num_forks;
}

void Engine::append(int32_t id, const std::vector<int64_t>& tokens) {
  Sequence& sequence = open_sequence(id);
  TORCH_INTERNAL_ASSERT(!sequence.is_generating());
  check_ids(tokens);
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
}

void Engine::truncate(int32_t id, int64_t length, std::optional<uint64_t> seed) {
  Sequence& sequence = open_sequence(id);
  TORCH_INTERNAL_ASSERT(!sequence.is_generating() && length >= 0 && length <= sequence.num_tokens());
  if (seed) sequence.seed = *seed;
  scheduler_.truncate(sequence, length);
  erase_closed();  // its parent may have waited for it
}

void Engine::generate(int32_t id, GenerateOptions options) {
  Sequence& sequence = open_sequence(id);
  TORCH_INTERNAL_ASSERT(sequence.num_tokens() < options_.max_tokens);
  check_sampling(options.sampling);
  Span span;
  span.options = std::move(options);
  start(sequence, std::move(span));
}

void Engine::score(int32_t id, const std::vector<int64_t>& tokens) {
  Sequence& sequence = open_sequence(id);
  check_ids(tokens);
  Span span;
  span.options.wants_entropies = true;
  span.num_given = static_cast<int64_t>(tokens.size());
  TORCH_INTERNAL_ASSERT(span.num_given > 0 && sequence.num_tokens() + span.num_given <= options_.max_tokens);
  start(sequence, std::move(span));
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
}

void Engine::start(Sequence& sequence, Span span) {
  if (sequence.error != nullptr) std::rethrow_exception(sequence.error);
  TORCH_INTERNAL_ASSERT(!sequence.is_generating() && sequence.num_tokens() > 0);
  sequence.span = std::move(span);
  sequence.span.matcher.reset(sequence.span.options.stop_strings.get());
  sequence.state = SequenceState::kRunning;
  scheduler_.activate(sequence);
  ++num_running_;
}

void Engine::cancel(int32_t id, Finish reason) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end() || !found->second->is_generating()) return;
  finish(*found->second, {id, 0, reason, -1, 0, 0});
}

void Engine::cancel_all() {
  for (const auto& [id, sequence] : sequences_) cancel(id, Finish::kAborted);
}

void Engine::fail(int32_t id, std::exception_ptr error, bool is_span) {
  const auto found = sequences_.find(id);
  const bool is_open = found != sequences_.end();
  if (is_open && found->second->is_generating()) return fail_span(*found->second, error);
  if (is_span) {
    report_.news.push_back({id, 0, Finish::kFailed, -1, 0, weights_version_, error});
  } else if (is_open) {
    found->second->error = error;
  }
}

// What it left in its blocks is not to be trusted.
void Engine::fail_span(Sequence& sequence, std::exception_ptr error) {
  finish(sequence, {sequence.id, 0, Finish::kFailed, -1, 0, 0, error});
  scheduler_.forget(sequence);
}

// A row that does not generate is there for the sake of forks, which may be any: then all fail.
void Engine::fail_batch(std::exception_ptr error) {
  std::vector<Sequence*> failed;
  for (const Row& row : scheduler_.rows()) failed.push_back(row.sequence);
  const bool is_known = !failed.empty() && std::all_of(failed.begin(), failed.end(),
                                                       [](const Sequence* each) { return each->is_generating(); });
  if (!is_known) {
    failed.clear();
    for (const auto& [id, sequence] : sequences_) {
      if (sequence->is_generating()) failed.push_back(sequence.get());
      scheduler_.forget(*sequence);
    }
  }
  for (Sequence* sequence : failed) fail_span(*sequence, error);
}

void Engine::close(int32_t id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  Sequence& sequence = *found->second;
  if (sequence.state == SequenceState::kClosed) return;
  cancel(id, Finish::kAborted);
  sequence.state = SequenceState::kClosed;
  closed_.push_back(id);
  erase_closed();
}

// A closed sequence goes once its forks have taken their share; its own parent may then be free to go too.
void Engine::erase_closed() {
  const auto erase = [this](int32_t id) {
    const auto found = sequences_.find(id);
    if (found->second->num_forks > 0) return false;
    scheduler_.remove(*found->second);
    sequences_.erase(found);
    return true;
  };
  while (std::erase_if(closed_, erase) > 0) {
  }
}

// Keys and values made by other weights are worth nothing; each sequence recomputes its own when it runs again.
void Engine::drop_stale_caches() {
  if (decoder_->weights_version() == weights_version_) return;
  weights_version_ = decoder_->weights_version();
  pool_.forget_all();
  for (auto& [id, sequence] : sequences_) scheduler_.drop_cache(*sequence);
}

void Engine::step() {
  const at::NoGradGuard no_grad;
  try {
    run_batch();
  } catch (...) {
    fail_batch(std::current_exception());
  }
  erase_closed();
}

void Engine::run_batch() {
  drop_stale_caches();
  const std::vector<Row>& rows = scheduler_.next();
  TORCH_INTERNAL_ASSERT(!rows.empty());
  const StepOutput output = runner_.run(rows);
  ++stats_.num_steps;
  stats_.num_rows += static_cast<int64_t>(rows.size());
  for (const Row& row : rows) stats_.num_prefilled += row.num_tokens - (row.samples ? 1 : 0);
  if (output.logits_RV.defined()) sample_rows(rows, output.logits_RV);
  if (output.logprob_N.defined()) take_scores(rows, output);
  scheduler_.remember();
}

void Engine::sample_rows(const std::vector<Row>& rows, const at::Tensor& logits_RV) {
  std::vector<SampleRequest> requests;
  for (const Row& row : rows) {
    if (row.samples) requests.push_back(request_of(*row.sequence));
  }
  const std::vector<Sample> samples = sample(logits_RV, requests);
  auto next = samples.begin();
  for (const Row& row : rows) {
    if (!row.samples) continue;
    const Sample& drawn = *next++;
    if (!std::isfinite(drawn.logprob)) {
      fail_span(*row.sequence, not_finite(drawn.logprob));
    } else if (drawn.token < 0) {
      fail_span(*row.sequence, nothing_allowed());
    } else {
      accept(*row.sequence, drawn);
    }
  }
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
  if (span.num_tokens++ == 0) span.weights_version = weights_version_;
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
  if (sequence.is_scoring()) {
    const auto given = sequence.tokens.end() - span.num_given;
    span.tokens.assign(given, given + static_cast<int64_t>(span.logprobs.size()));
    span.num_tokens = static_cast<int64_t>(span.tokens.size());
    span.weights_version = weights_version_;
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
  news.weights_version = span.num_tokens == 0 ? weights_version_ : span.weights_version;
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

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  stats.num_preemptions = scheduler_.num_preemptions();
  stats.num_reused = scheduler_.num_reused();
  stats.num_sequences = static_cast<int64_t>(sequences_.size() - closed_.size());
  stats.num_blocks = pool_.num_blocks();
  stats.num_used_blocks = pool_.num_used();
  return stats;
}

}  // namespace seekrl::engine
