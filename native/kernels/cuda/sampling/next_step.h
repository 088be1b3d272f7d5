// What the next decoding step reads, made of what this one drew, so that the host need not wait for it.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/sampling/sampler.h"
#include "kernels/cuda/status.h"

namespace seekrl::cuda {

// All pointers are to the GPU's memory. A row is a sequence of which one token a step is decoded; it has ended when
// its slot is negative.
struct NextStep {
  int32_t* ids_S;          // the input of a step
  int32_t* positions_S;    // of that input
  int32_t* num_tokens_S;   // with that input: what SampleCall asks for
  int32_t* slots_S;        // where its key and value are kept, as Rotate has it
  AttentionTile* tiles_S;  // of one position each
  const DrawnToken* drawn_S;
  const int32_t* block_table;  // row tiles_S[s].sequence is that of sequence s
  const int32_t* limits_S;     // tokens that a row may have
  int64_t num_rows, table_stride, block_tokens;
};

// Of a row that goes on the token drawn becomes the input, position, number of tokens and num_keys grow by one, and the
// slot is block_table[position / block_tokens] * block_tokens + position % block_tokens. A row ends when it has as many
// tokens as it may, or when nothing could be drawn: the slot becomes -1, so that nothing more is kept, and num_keys 1;
// all else stays, and what is drawn from it later is ignored. A thread a row; moves 60 bytes a row.
Status next_step(const NextStep& call, void* stream);

struct WordEdit {
  int32_t place, value;
};

// words[place] = value for each of `edits`, on the GPU as `words` are; at most one a place.
Status edit_words(int32_t* words, const WordEdit* edits, int64_t num_edits, void* stream);

}  // namespace seekrl::cuda
