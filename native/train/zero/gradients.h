// Where gradients are summed: over micro-batches on each rank, then over ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/process_group.h"
#include "model/parameter.h"
#include "train/zero/layout.h"

namespace seekrl::train {

// One f32 arena of all gradients, attached to the parameters: autograd adds to it whatever their dtype is.
class Gradients {
 public:
  // The parameters require gradients from here until the end of this object. `group` may be null. With a layout of one
  // rank every rank of the group keeps all sums, otherwise those of its own pieces.
  Gradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
            std::shared_ptr<comm::ProcessGroup> group);
  ~Gradients();
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  // Sums over ranks, which all of them call. After it `own` is the sum of all micro-batches of all ranks.
  void reduce();
  // Of a piece of this rank, flat; the same memory always.
  at::Tensor own(const Piece& piece) const { return arena_.narrow(0, piece.place, piece.count); }

  // The length of all that this rank has, on any device.
  double norm() const;
  void zero() { arena_.zero_(); }
  // A copy of what is summed so far for one parameter, over all ranks, which all of them call.
  at::Tensor total(size_t parameter) const;

 private:
  void reduce_scatter();

  std::vector<model::Parameter> parameters_;
  const Layout& layout_;
  std::shared_ptr<comm::ProcessGroup> group_;
  at::Tensor arena_;
};

}  // namespace seekrl::train
