// What callers ask of an engine; engine_step.cpp and its neighbours run it.
#include "engine/engine.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "engine/follow/step_command.h"
#include "model/check_ids.h"

namespace seekrl::engine {

namespace {

int64_t next_number() {
  static std::atomic<int64_t> next{0};
  return next++;
}

}  // namespace

Engine::Engine(std::shared_ptr<const model::Decoder> decoder, EngineOptions options, TokenBytes token_bytes)
    : decoder_(decoder),
      number_(next_number()),
      options_(options),
      token_bytes_(std::move(token_bytes)),
      pool_(decoder->own_config(), options.block_tokens, decoder->dtype(), decoder->device(), options.cache_dtype),
      scheduler_(pool_, swap_, sequences_, options.limits),
      runner_(decoder, pool_, number_),
      budget_(options.limits),
      weights_version_(decoder->weights_version()),
      idle_memory_(Work::kGenerate, [this] { release_cache(); }) {
  if (!token_bytes_.undrawn.empty()) {
    drawable_ = mask_without(token_bytes_.undrawn, decoder->config().vocab_size);
    if (!decoder->device().is_cpu()) drawable_on_gpu_ = at::tensor(drawable_, at::kInt).to(decoder->device());
  }
  pool_.set_num_blocks(wanted_blocks());
  options_.max_tokens = std::min(options.max_tokens, pool_.num_blocks() * options.block_tokens);
  if (is_shared()) {
    pool_.list_copies();
    decoder_->parallel().together([&] { return open_command(number_, pool_.block_tokens(), options_.cache_dtype); },
                                  [] {});
  }
  if (pool_.layout() != BlockLayout::kOnGpu) {
    take_cache();
    return;
  }
  // Rank 0 alone draws: nothing of a next step can be asked of the others before its draws are on the host.
  if (is_shared()) return;
  flight_ = std::make_unique<Flight>(*decoder_, pool_, options.limits.max_batch_rows, options_.max_tokens);
}

// Where the job has failed there is nobody left to be told.
Engine::~Engine() {
  try {
    decoder_->parallel().together([&] { return close_command(number_); }, [] {});
  } catch (const std::exception&) {
  }
}

Sequence& Engine::open_sequence(int32_t id) {
  const auto found = sequences_.find(id);
  require(found != sequences_.end() && found->second->state != SequenceState::kClosed, ErrorCode::kState, "sequence ",
          id, ": closed");
  return *found->second;
}

void Engine::check_ids(const std::vector<int64_t>& tokens) const {
  model::check_ids(tokens, decoder_->config().vocab_size, "ids");
}

void Engine::check_sampling(const SamplingOptions& options) const {
  for (const std::vector<int64_t>& word : options.bad_words) check_ids(word);
  for (const auto& [token, bias] : options.logit_bias) check_ids({token});
}

void Engine::open(int32_t id, std::vector<int64_t> tokens, uint64_t seed,
                  std::shared_ptr<const model::Adapter> adapter) {
  check_ids(tokens);
  auto sequence = std::make_shared<Sequence>();
  sequence->id = id;
  sequence->seed = seed;
  sequence->tokens = std::move(tokens);
  sequence->adapter = std::move(adapter);
  sequences_.emplace(id, std::move(sequence));
}

void Engine::fork(int32_t id, int32_t child, uint64_t seed) {
  const Sequence& parent = open_sequence(id);
  open(child, parent.tokens, seed, parent.adapter);
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
  TORCH_INTERNAL_ASSERT(options.masks == nullptr ||
                        options.masks->num_words() == (decoder_->config().vocab_size + 31) / 32);
  Span span;
  span.options = std::move(options);
  start(sequence, std::move(span));
}

void Engine::score(int32_t id, const std::vector<int64_t>& tokens, int64_t num_top) {
  Sequence& sequence = open_sequence(id);
  check_ids(tokens);
  Span span;
  span.options.wants_entropies = true;
  span.options.num_top = num_top;
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
  sequence.num_reused = -1;
  sequence.has_waited = false;
  allow_draft(sequence);
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
    const int64_t version = is_open ? version_of(*found->second) : decoder_->weights_version();
    report_.news.push_back({id, 0, Finish::kFailed, -1, 0, version, error});
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
  if (flight_) flight_->end();
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

// Where it does not generate it is there for the sake of its forks.
void Engine::fail_row(Sequence& sequence, std::exception_ptr error) {
  if (sequence.is_generating()) return fail_span(sequence, error);
  for (const auto& [id, fork] : sequences_) {
    if (fork->parent.get() == &sequence && fork->waits_for_parent) fail_row(*fork, error);
  }
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

// Both only grow, so that their sum moves whenever one does.
int64_t Engine::version_of(const Sequence& sequence) const {
  return decoder_->weights_version() + (sequence.adapter ? sequence.adapter->version() : 0);
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  if (flight_) {
    stats.num_replays = flight_->num_replays();
    stats.graph_refusal = flight_->graph_refusal();
  }
  stats.num_preemptions = scheduler_.num_preemptions();
  stats.num_swapped = scheduler_.num_swapped();
  stats.num_reused = scheduler_.num_reused();
  stats.num_sequences = static_cast<int64_t>(sequences_.size() - closed_.size());
  stats.num_blocks = pool_.num_blocks();
  stats.num_used_blocks = pool_.num_used();
  return stats;
}

}  // namespace seekrl::engine
