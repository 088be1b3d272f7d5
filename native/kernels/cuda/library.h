// Every function of the library of kernels in one table, for programs that open it while they run.
#pragma once

#include <cstddef>

#include "kernels/cuda/attention/paged.h"
#include "kernels/cuda/attention/prefill.h"
#include "kernels/cuda/attention/span.h"
#include "kernels/cuda/encoder/rows.h"
#include "kernels/cuda/experts/experts.h"
#include "kernels/cuda/gpu.h"
#include "kernels/cuda/layer/gate.h"
#include "kernels/cuda/layer/norm.h"
#include "kernels/cuda/layer/rotate.h"
#include "kernels/cuda/layer/tokens.h"
#include "kernels/cuda/product/low_rank.h"
#include "kernels/cuda/product/product.h"
#include "kernels/cuda/quant/quant.h"
#include "kernels/cuda/sampling/next_step.h"
#include "kernels/cuda/sampling/sampler.h"
#include "kernels/cuda/search/vectors.h"
#include "kernels/cuda/train/adamw.h"
#include "kernels/cuda/train/policy_rows.h"
#include "kernels/cuda/train/token_logprob.h"

namespace seekrl::cuda {

// A call's arguments are the structs of the headers: table and caller are built from the same ones.
#define SEEKRL_CUDA_FUNCTIONS(each)                                                                              \
  each(add_norm) each(norm_gradient) each(norm_gradient_scratch_floats) each(gate_mul) each(gate_mul_gradient)   \
      each(rotate) each(rotate_gradient) each(rotate_gradient_scratch_floats) each(embed) each(embed_gradient)   \
          each(rotary_angles) each(product) each(add_low_rank) each(paged_attention)                             \
              each(paged_attention_scratch_floats) each(prefill_attention) each(span_attention)                  \
                  each(span_attention_gradient) each(sample) each(next_step) each(edit_words) each(score_logits) \
                      each(combine_scores) each(logit_gradients) each(policy_rows) each(value_rows) each(adamw)  \
                          each(squared_norm) each(quant_product) each(dequantise) each(search_vectors)           \
                              each(vector_search_parts) each(vector_search_scratch_bytes) each(rescore_vectors)  \
                                  each(vector_rescore_scratch_bytes) each(add_layer_norm) each(bias_gelu)        \
                                      each(pool_texts) each(choose_experts) each(sort_calls) each(gather_calls)  \
                                          each(expert_product) each(add_experts) each(num_processors)

struct Library {
  size_t size;  // of this struct: another one is of another version
#define SEEKRL_SLOT(name) decltype(&cuda::name) name;
  SEEKRL_CUDA_FUNCTIONS(SEEKRL_SLOT)
#undef SEEKRL_SLOT
};

}  // namespace seekrl::cuda

// What dlsym looks for.
#define SEEKRL_LIBRARY_SYMBOL "seekrl_kernels"
extern "C" __attribute__((visibility("default"))) const seekrl::cuda::Library* seekrl_kernels();
