// A feed-forward block of many experts, of which a router chooses a few for each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/projection.h"
#include "ops/gpu/experts.h"

namespace seekrl::model {

struct FeedForward {
  Projection gate, up, down;

  // down(f(gate x) * up x), f silu or gelu.
  at::Tensor apply(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters,
                   const TensorParallel& parallel) const;
  // What this rank's channels give to it.
  at::Tensor apply_own(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters) const {
    return down.apply(gated(x_TD, function, adapters), adapters);
  }

 private:
  at::Tensor gated(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters) const;
};

struct Experts {
  Projection router;  // [E, D]; no adapter goes on it
  std::vector<FeedForward> all;
  int64_t num_chosen = 0;      // A
  bool is_normalised = false;  // the chosen ones' weights add up to one

  // Whether a GPU computes all of them in launches that do not depend on who is chosen, as long as nothing is learnt.
  bool are_together(const AdapterRows& adapters) const {
    return !all.front().gate.weight_NK.is_quant() && adapters.is_empty();
  }

  // sum over the A experts e of the largest p_e, from the largest on, of p_e expert_e(x); p = softmax(router x), f32.
  // A token's result does not depend on the others. Differentiable. Every rank has the router, and channels of every
  // expert.
  at::Tensor apply(const at::Tensor& x_TD, Gate function, const AdapterRows& adapters,
                   const TensorParallel& parallel) const;

 private:
  // Of each of them: which experts, i64, and their weights.
  struct Choice {
    at::Tensor weights_TA, chosen_TA;
  };
  Choice choose(const at::Tensor& odds_TE) const;
  at::Tensor apply_each(const at::Tensor& x_TD, const Choice& choice, Gate function, const AdapterRows& adapters) const;
  const ops::GpuExperts& gpu_weights() const;

  mutable ops::GpuExperts gpu_weights_;         // made at the first call
  mutable std::vector<int64_t> gpu_addresses_;  // that it has
};

}  // namespace seekrl::model
