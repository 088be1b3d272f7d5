// Activations made again in the backward pass instead of being kept (Chen et al., arXiv 1604.06174).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace seekrl::model {

// A part of a forward from hidden states to hidden states; what it captures lives until the backward pass.
using Stage = std::function<at::Tensor(const at::Tensor& x_TD)>;

// stage(x_TD), of which only x_TD is kept. Backward runs the stage once more and through it, so that gradients have the
// bits they would have had.
at::Tensor recomputed(const Stage& stage, const at::Tensor& x_TD);

}  // namespace seekrl::model
