// Generates tokens for many sequences at once, step by step. Device thread only.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/idle_memory.h"
#include "engine/decode/flight.h"
#include "engine/memory/block_pool.h"
#include "engine/memory/step_budget.h"
#include "engine/memory/swap.h"
#include "engine/runner.h"
#include "engine/sampling/sampler.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "engine/stop.h"
#include "model/decoder.h"

namespace seekrl::engine {

struct EngineOptions {
  int64_t num_blocks;   // 0: what the bytes hold
  int64_t cache_bytes;  // 0: what a GPU has room for when a step takes them, at first and after each training
  int64_t block_tokens;
  int64_t max_tokens;  // of the longest sequence; the engine's own is less where the pool cannot hold it
  Limits limits;
  bool drafts = true;  // prompt-lookup decoding
  CacheDtype cache_dtype = CacheDtype::kModel;
};

// News of one sequence: tokens of its span not yet told, and why the span ended, if it did.
struct News {
  int32_t sequence;
  int32_t num_tokens;
  Finish finish;
  int32_t stop_index;  // which stop string, else -1
  int32_t cut_bytes;
  int64_t weights_version;             // of the tokens, all sampled under one
  std::exception_ptr error = nullptr;  // why it failed
  int32_t num_reused = 0;              // leading tokens that were not run for the span
  int32_t num_top = 0;                 // most likely tokens listed for each of its own
};

// What one step has to tell, flat: the tokens and log-probabilities of all news, one after another.
struct Report {
  std::vector<News> news;
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  std::vector<float> entropies;        // as many, when any of the news has them, else none
  std::vector<kernels::TopToken> top;  // of all news that have them, num_tokens x num_top
};

struct EngineStats {
  int64_t num_steps = 0;
  int64_t num_generated = 0;  // sampled tokens
  int64_t num_drafted = 0;    // tokens run ahead of their draws
  int64_t num_accepted = 0;   // those of them that agreed with the draws
  int64_t num_prefilled = 0;  // all other tokens that were run
  int64_t num_reused = 0;     // tokens whose keys and values were found where sequences had left them
  int64_t num_rows = 0;       // summed over steps: num_rows / num_steps is the mean batch
  int64_t num_replays = 0;    // steps on a GPU that were one graph
  int64_t num_preemptions = 0;
  int64_t num_swapped = 0;        // times a sequence's blocks went to the host
  int64_t num_out_of_memory = 0;  // steps that a GPU had no memory for, each tried again with fewer tokens
  int64_t num_sequences = 0;
  int64_t num_blocks = 0, num_used_blocks = 0;
  std::string graph_refusal;  // why no step on a GPU is one graph; empty where they are, and on the CPU
};

class Engine {
 public:
  Engine(std::shared_ptr<const model::Decoder> decoder, EngineOptions options, TokenBytes token_bytes);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Sequences are named by the caller, in ascending order: the smaller number goes first when resources are short.
  // With an adapter it reads and samples through that one, whose changes between steps it follows.
  void open(int32_t id, std::vector<int64_t> tokens, uint64_t seed,
            std::shared_ptr<const model::Adapter> adapter = nullptr);
  void fork(int32_t id, int32_t child, uint64_t seed);
  void append(int32_t id, const std::vector<int64_t>& tokens);
  // All tokens but the first `length` go. With a seed, the draws from here on are its own.
  void truncate(int32_t id, int64_t length, std::optional<uint64_t> seed);
  void generate(int32_t id, GenerateOptions options);
  // How likely these tokens are after the sequence's, and which `num_top` are the most likely there; told of as a span
  // of theirs. The sequence stays as it is.
  void score(int32_t id, const std::vector<int64_t>& tokens, int64_t num_top = 0);
  // Ends the span that is being sampled, if any.
  void cancel(int32_t id, Finish reason);
  void cancel_all();
  // After a command that threw: it alone is the worse for it. Its span, or the one that it was to begin when
  // `is_span`, is told of as failed; what was never done cannot be built on, so later spans of it fail as well.
  void fail(int32_t id, std::exception_ptr error, bool is_span);
  void close(int32_t id);

  // Not when all that run wait for their masks.
  bool has_work() const;
  // Runs one batch. Weights never change during a step. A sequence whose numbers are not finite fails alone; when the
  // step as a whole throws, the sequences of its batch do. A step that a GPU has no memory for leaves everything as it
  // was, and the next one is smaller; a sequence fails when the GPU has no memory for one token of it.
  void step();
  // What has happened since the last call.
  Report take_report() { return std::exchange(report_, {}); }

  EngineStats stats() const;
  int64_t num_blocks() const { return pool_.num_blocks(); }
  // Those that nobody refers to, what is remembered in them or not.
  int64_t num_free_blocks() const { return pool_.num_free(); }
  // The longest that a sequence can grow.
  int64_t max_tokens() const { return options_.max_tokens; }

 private:
  // What the rows of a step drew, before anybody is told.
  struct Draws {
    std::vector<Sequence*> sequences;
    std::vector<Sample> samples;  // of these, one sequence's behind the other's
    std::vector<std::pair<Sequence*, at::Tensor>> held_logits_V;
  };

  Sequence& open_sequence(int32_t id);
  void check_ids(const std::vector<int64_t>& tokens) const;
  void check_sampling(const SamplingOptions& options) const;
  void take_cache();
  void release_cache();
  bool is_shared() const { return decoder_->parallel().is_split(); }
  int64_t bytes_beside_cache() const;
  int64_t wanted_blocks() const;
  void take_shared_cache();
  void check_fits();
  void drop_stale_caches();
  int64_t version_of(const Sequence& sequence) const;
  void run_batch();
  void fail_batch(std::exception_ptr error);
  void shrink_step(const char* message);
  void fail_row(Sequence& sequence, std::exception_ptr error);
  void fail_span(Sequence& sequence, std::exception_ptr error);
  void start(Sequence& sequence, Span span);
  void start_flight(const std::vector<Row>& rows);
  void continue_flight();
  void collect_step();
  bool may_run_ahead();
  bool are_weights_new() const;
  // Of the token after a sequence's and the first `num_drafted` of its draft.
  SampleRequest request_of(const Sequence& sequence, int64_t num_drafted = 0) const;
  void sample_held();
  void sample_held(Sequence& sequence);
  Draws draw(const std::vector<Row>& rows, const at::Tensor& logits_RV) const;
  void take_draws(const Draws& draws);
  void take_samples(Sequence& sequence, const Sample* samples);
  void take_sample(Sequence& sequence, const Sample& sample);
  void allow_draft(Sequence& sequence);
  static std::exception_ptr not_finite(float logprob);
  void take_scores(const std::vector<Row>& rows, const StepOutput& output);
  void accept(Sequence& sequence, const Sample& sample);
  void finish(Sequence& sequence, News news);
  void tell(Sequence& sequence, News news);
  void erase_closed();

  std::shared_ptr<const model::Decoder> decoder_;
  const int64_t number_;  // among those of the process
  EngineOptions options_;
  TokenBytes token_bytes_;
  std::vector<int32_t> drawable_;  // a mask of the tokens; empty where every row of the head is one
  at::Tensor drawable_on_gpu_;     // the same there, where the model is
  BlockPool pool_;
  SwapSpace swap_;
  Scheduler::Sequences sequences_;
  Scheduler scheduler_;
  Runner runner_;
  StepBudget budget_;
  std::unique_ptr<Flight> flight_;  // on a GPU, where one process holds the model
  std::vector<int32_t> closed_;     // closed ones that still serve forks
  std::vector<int32_t> held_;       // those with held logits, or that had them
  int64_t num_running_ = 0;
  int64_t weights_version_;  // of the model at the last step
  Report report_;
  EngineStats stats_;
  IdleMemory idle_memory_;  // while the process trains
};

}  // namespace seekrl::engine
