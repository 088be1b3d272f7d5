// The inputs of decoding steps, kept on the GPU from step to step: what a step draws moves them on there, and the host
// sends what it changes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/attention/shared_prefix.h"
#include "kernels/cuda/sampling/next_step.h"
#include "kernels/cuda/sampling/sampler.h"

namespace seekrl::engine {

// One sequence of a batch, before a step.
struct DecodeRow {
  int32_t id;          // the token to run, the last there is
  int32_t num_tokens;  // with it
  int32_t limit;       // of tokens
  int32_t slot;        // of that token's key and value; negative: they are not kept
  cuda::SampleRow sampling;
};

class DecodeState {
 public:
  DecodeState(int64_t max_rows, int64_t table_stride, int64_t block_tokens, at::Device device);

  // Takes the place of what was there; rows behind the last have ended. Blocks stay. `shared`: of these rows.
  void set_rows(const std::vector<DecodeRow>& rows, const SharedPrefixes& shared);
  // Block i of row r; nothing is sent where it is known there.
  void set_block(int64_t row, int64_t i, int32_t block);
  // What the row runs from the next step on is kept nowhere.
  void end_row(int64_t row);
  // Sends what the two above have changed: 8 bytes a change.
  void send_edits();

  int64_t max_rows() const { return max_rows_; }
  int64_t table_stride() const { return table_stride_; }
  // All of the GPU's memory.
  at::Tensor ids(int64_t num_rows) const { return words_.narrow(0, place(kIds), num_rows); }
  at::Tensor positions(int64_t num_rows) const { return words_.narrow(0, place(kPositions), num_rows); }
  const int32_t* slots() const { return at(place(kSlots)); }
  const cuda::AttentionTile* tiles() const;
  const int32_t* block_table() const { return at(table_); }
  // Of max_rows tiles those behind the last have no keys.
  const cuda::AttentionTile* shared_tiles() const;
  const int32_t* shared_keys() const { return at(place(kSharedKeys)); }
  // Draws from `logits_RV` into drawn().
  cuda::SampleCall sample_call(const at::Tensor& logits_RV, double softcap) const;
  cuda::NextStep next_step(int64_t num_rows) const;
  // u8 [max_rows, 12]: cuda::DrawnToken
  const at::Tensor& drawn() const { return drawn_; }
  // u8 [max_rows, kTopBytes]: the most likely tokens of rows that list them
  const at::Tensor& top() const { return top_; }

 private:
  // Lists of a number for each row; tiles take four places.
  enum List {
    kIds,
    kPositions,
    kNumTokens,
    kSlots,
    kLimits,
    kSharedKeys,
    kTiles,
    kSharedTiles = kTiles + 4,
    kNumLists = kSharedTiles + 4
  };
  int64_t place(List list) const { return list * max_rows_; }
  int32_t* at(int64_t place) const { return words_.mutable_data_ptr<int32_t>() + place; }
  void edit(int64_t place, int32_t value);

  const int64_t max_rows_, table_stride_, block_tokens_;
  const int64_t sampling_, table_;  // where they begin among the words
  at::Tensor words_;                // i32: the lists, SampleRow of each row, the block table
  at::Tensor drawn_, top_;
  std::vector<int32_t> known_blocks_;  // the table as it is there
  std::vector<cuda::WordEdit> edits_;
};

}  // namespace seekrl::engine
