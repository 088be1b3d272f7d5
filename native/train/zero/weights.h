// Weights of which each rank updates its own pieces, and all see the whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "comm/process_group.h"
#include "model/parameter.h"
#include "train/zero/layout.h"

namespace seekrl::train {

class Weights {
 public:
  Weights(const std::vector<model::Parameter>& parameters, const Layout& layout,
          std::shared_ptr<comm::ProcessGroup> group);

  // Of a piece of this rank, flat; what an update writes.
  at::Tensor own(const Piece& piece) const;
  // After an update, on all ranks: each gets the pieces of the others, in the weights' dtype.
  void spread();

 private:
  at::Tensor flat(size_t parameter) const { return parameters_[parameter].value.detach().view({-1}); }
  at::Tensor own_part(const Unit& unit) const;
  void fill(const Unit& unit, const at::Tensor& all) const;

  std::vector<model::Parameter> parameters_;
  const Layout& layout_;
  std::shared_ptr<comm::ProcessGroup> group_;
};

}  // namespace seekrl::train
