// A decoding step on a GPU as one graph of launches for each size of batch, so that the host asks for it once, not for
// each kernel.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "engine/decode/decode_state.h"
#include "engine/decode/graph.h"
#include "engine/memory/block_pool.h"
#include "model/decoder.h"

namespace seekrl::engine {

class DecodeGraphs {
 public:
  // All outlive it.
  DecodeGraphs(const model::Decoder& decoder, const BlockPool& pool, const DecodeState& state);
  ~DecodeGraphs();

  // Runs the first `num_rows` rows of the state, each of at most `max_keys` tokens, draws from them and moves them on.
  // A shape that comes again, with the same adapters, is captured: what it launches is replayed from then on. adapters:
  // with their tables (AdapterRows::on). shares_keys: some rows have shared keys in the state.
  void run(int64_t num_rows, int64_t max_keys, bool shares_keys, const model::AdapterRows& adapters);

  // Forgets every shape: graphs hold addresses of the pool, and memory of their own.
  void clear();

  // Rows that run where `num_rows` are asked for: the rest have ended.
  static int64_t bucket_of(int64_t num_rows);

  // Steps that were replayed.
  int64_t num_replays() const { return num_replays_; }
  // Why no step is captured, and each kernel launched anew; empty while steps are.
  const std::string& refusal() const { return maker_.refusal; }

 private:
  struct Step;
  using Shape = std::tuple<int64_t, int64_t, bool>;  // rows, keys, whether some are shared
  void make_scratch(Shape shape);
  void launch(Step& step, Shape shape) const;
  void capture(Step& step, Shape shape);
  int64_t keys_bucket(int64_t max_keys) const;

  const model::Decoder& decoder_;
  const BlockPool& pool_;
  const DecodeState& state_;
  std::map<Shape, std::unique_ptr<Step>> steps_;
  at::Tensor scratch_;  // of every shape's attention; grows, and then what holds its address goes
  GraphMaker maker_;
  uint64_t graph_pool_;
  int64_t num_replays_ = 0;
};

}  // namespace seekrl::engine
