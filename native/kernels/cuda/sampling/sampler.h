// Draws a token from each row of logits by the rules of engine/sampling; 12 bytes a row go home.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"
#include "kernels/sampling.h"

namespace seekrl::cuda {

// What is done to the logit z of one token, after the mask: z + bias; then, of a token that stood before, z /
// repetition (z repetition when z is below 0); then, of one said num_said > 0 times, z - frequency num_said - presence.
struct LogitEdit {
  int32_t token;
  int32_t num_said;  // times in the span; 0: in the prompt alone; -1: not before, no penalties
  float bias;        // -infinity forbids: bad words, whose last token it is, too
};

// One row's options, with the meanings of SamplingOptions.
struct SampleRow {
  uint64_t seed;
  const uint32_t* mask;    // on the GPU: bit v % 32 of word v / 32: whether token v is allowed; null allows all
  const LogitEdit* edits;  // on the GPU: at most one a token, in ascending order of tokens
  int32_t num_edits;
  int32_t top_k;       // 0 is off
  double temperature;  // 0 is greedy
  double top_p, min_p;
  float repetition, frequency, presence;
  int32_t wants_entropy;
  int32_t num_top = 0;  // most likely tokens to list: at most kernels::kMaxTop, and no more than there are
};

struct DrawnToken {
  int32_t token;  // -1 when every token is forbidden
  float logprob;  // under softmax(logits / temperature) of the unedited row; NaN, and token 0, when a logit is NaN,
                  // one is +infinity or all are -infinity
  float entropy;  // of softmax(logits), in nats; 0 unless wanted
};

struct SampleCall {
  DrawnToken* drawn_R;
  const float* logits_RV;
  const SampleRow* rows_R;       // on the GPU
  const int32_t* num_tokens_R;   // on the GPU: tokens before the one to be drawn, the index of its random number
  int64_t num_rows, vocab_size;  // vocab_size: at most 327,680
  float softcap = 0;             // a logit x is softcap tanh(x / softcap), before all else; 0: x
  // [R, kMaxTop], of which a row's first num_top are set: by descending logits of the unedited row, of equal ones the
  // first token first; those of a row that is not finite are not set. Null where no row lists any.
  kernels::TopToken* top_RK = nullptr;
  // For rows whose scores are made of parts (combine_scores of train/token_logprob.h): in place of a log-probability
  // the token's logit times the inverse temperature; the entropy is the caller's to make as well.
  bool gives_logits = false;
};

// The token of the CPU for the same seed: weights exp((z - max) / temperature) and their sums have its bits and
// score_logits' (16 sums by index mod 16 in blocks of 1,024, blocks in f64), but what top-p compares is summed in fixed
// point, 44 bits behind the point, so that the order of additions does not matter.
// Reads a row twice: for the maxima; for all sums and the histogram of the weights' 11 high bits. top_k and top_p each
// read it once more, to list the weights around their bound (twice instead where more than 4,096 lie within a
// sixteenth of an octave of it; not at all where the other's list holds them), then both together once, for the sums of
// what is kept; and once for each token that it lists. Nothing is written but drawn_R and top_RK. A block of 512
// threads a row: four threads have each block of 1,024.
Status sample(const SampleCall& call, void* stream);

}  // namespace seekrl::cuda
