// How gradients are summed over ranks: in f32, whatever they travel in.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "comm/process_group.h"

namespace seekrl::train {

// With bf16 every rank rounds what it has to the nearest (2^-8 of it at most) and sends each rank its part, who adds
// them up in f32, in the order of ranks: half the bytes of a sum in f32. A sum that is in bf16 itself, as NCCL's, would
// round once more at every rank that it comes by. What all ranks are to have is rounded once more, on the way back.
class Reducer {
 public:
  // `group` is of more than one rank, or nothing is ever summed.
  Reducer(std::shared_ptr<comm::ProcessGroup> group, at::ScalarType dtype);

  // Under way.
  class Part {
   public:
    // f32 [part].
    at::Tensor wait();

   private:
    friend class Reducer;
    at::Tensor own_;       // f32 [part]
    at::Tensor received_;  // bf16 [ranks, part]; undefined where own_ is what comes
    comm::Pending pending_;
  };

  // all: f32 [ranks * part], of which this rank gets the sums of its place.
  Part begin_part(const at::Tensor& all) const;
  // f32, in place: the same bits on all ranks.
  void sum(const at::Tensor& all) const;
  // Whether `sum` takes memory beside what it sums: half as much, twice.
  bool has_copies() const { return dtype_ != at::kFloat; }

 private:
  Part begin_rounded(const at::Tensor& rounded) const;

  std::shared_ptr<comm::ProcessGroup> group_;
  at::ScalarType dtype_;
};

}  // namespace seekrl::train
