// A feed-forward block of many experts, of which each token goes through a few: the choice, the calls in the order of
// their experts, products of each expert with its own rows, and the sum of what comes back.
#pragma once

#include <cstdint>

#include "kernels/cuda/status.h"

namespace seekrl::cuda {

constexpr int64_t kMaxExperts = 512;

// T tokens choose A of E experts, E at most kMaxExperts.
struct ExpertChoice {
  float* weights_TA;  // of the chosen ones, the largest first
  int32_t* chosen_TA;
  const void* logits_TE;  // in dtype
  int64_t num_tokens, num_experts, num_chosen;
  bool is_normalised;  // a token's weights add up to one
  Dtype dtype;
};

// p = softmax(logits) in f32; a token takes the A largest, of equal ones the first. A warp a token.
Status choose_experts(const ExpertChoice& call, void* stream);

// Calls are (token, place among its A), R = T A of them, numbered token A + place.
struct ExpertCalls {
  int32_t* start_E;   // [E + 1]: expert e has the calls order_R[start_E[e]] to order_R[start_E[e + 1]], ascending
  int32_t* order_R;   // which call stands where
  int32_t* places_R;  // where a call stands
  const int32_t* chosen_R;
  int64_t num_calls, num_experts;
};

// A block an expert, which reads all choices twice.
Status sort_calls(const ExpertCalls& call, void* stream);

// rows_RD[i] = x[order_R[i] / A], of 16 bits; D is a multiple of 8; both begin at multiples of 16 bytes.
struct ExpertRows {
  void* rows_RD;
  const void* x_TD;
  const int32_t* order_R;
  int64_t num_calls, num_chosen, width;
};
Status gather_calls(const ExpertRows& call, void* stream);

// out = x w_e^T for the rows [start_E[e], start_E[e + 1]) of each expert e, of 16 bits and contiguous; K is a multiple
// of 8, x and weights begin at multiples of 16 bytes. Bits, FLOP and bytes are those of a product of an expert's rows
// alone (product/product.h), all experts in one launch.
struct ExpertProduct {
  void* out_RN;
  const void* x_RK;
  const void* const* weights_E;  // each [N, K]; the pointers too are on the GPU
  const int32_t* start_E;
  int64_t num_calls, n, k, num_experts;
  Dtype dtype;
};
Status expert_product(const ExpertProduct& call, void* stream);

// out_t = sum over a of weights_ta rows[places of (t, a)], each term and each sum rounded to dtype, from the first on;
// out and rows begin at multiples of 16 bytes.
struct ExpertSum {
  void* out_TD;
  const void* rows_RD;
  const float* weights_TA;
  const int32_t* places_R;
  int64_t num_tokens, num_chosen, width;  // width: a multiple of 8
  Dtype dtype;
};
Status add_experts(const ExpertSum& call, void* stream);

}  // namespace seekrl::cuda
