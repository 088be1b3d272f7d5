// Decoding on a GPU with the host one step behind: a step is asked for before the draws of the last one are on the
// host.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/decode/decode_graphs.h"
#include "engine/decode/decode_state.h"
#include "engine/sampling/sampler.h"
#include "engine/scheduler.h"
#include "model/decoder.h"

namespace seekrl::engine {

// A batch whose rows each decode a token a step, from the scheduler's choice of it until its rows have ended or others
// want to run; for one step where draws need what the host makes of the last ones: masks, or edits of logits. Its
// sequences are a token behind the GPU for as long as a step is under way.
class Flight {
 public:
  // All outlive it. max_tokens: of any sequence.
  Flight(const model::Decoder& decoder, const BlockPool& pool, int64_t max_rows, int64_t max_tokens);

  // Whether these rows can: all decode, and no mask is waited for.
  static bool can_carry(const std::vector<Row>& rows);

  bool is_open() const { return num_live_ > 0; }
  // Steps that were asked for and whose draws are not on the host.
  int64_t num_under_way() const { return static_cast<int64_t>(pending_.size()); }
  int64_t num_replays() const { return graphs_.num_replays(); }
  const std::string& graph_refusal() const { return graphs_.refusal(); }

  // requests: of the rows.
  void begin(const std::vector<Row>& rows, const std::vector<SampleRequest>& requests);
  // Whether some sequence may have more tokens than those under way give it.
  bool may_go_on() const;
  // Asks for the next step; the blocks that it and the one after it write to are reserved.
  void launch();
  struct Draw {
    Sequence* sequence;
    Sample sample;
  };
  // Waits for the oldest step that is under way: what each sequence that has not left draws.
  std::vector<Draw> collect();
  // What this sequence draws from here on is ignored, if it takes part.
  void leave(const Sequence& sequence);
  // What is under way is ignored.
  void end();
  // The same, and gives back what is kept for later steps: the pool is about to lose its memory, or a step has none.
  void release();

 private:
  struct Place {
    Sequence* sequence;      // null: it has left
    int64_t limit;           // of its tokens
    int64_t num_blocks = 0;  // that the GPU knows of
  };
  struct PendingDraws {
    at::Tensor drawn;  // pinned
    at::Tensor top;    // pinned; undefined where no row lists its most likely tokens
    c10::Event is_on_host;
  };
  void send_blocks();

  const model::Decoder& decoder_;
  const BlockPool& pool_;
  const int64_t max_tokens_;
  DecodeState state_;
  DecodeGraphs graphs_;
  std::vector<Place> places_;
  at::Tensor edits_;  // of the rows' logits, on the GPU; undefined without
  model::AdapterRows adapters_;
  bool shares_keys_ = false;
  bool lists_top_ = false;
  std::deque<PendingDraws> pending_;
  int64_t num_live_ = 0;
  int64_t max_keys_ = 0;
};

}  // namespace seekrl::engine
