// Where gradients are summed: over micro-batches on each rank, and over ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "comm/process_group.h"
#include "model/parameter.h"
#include "train/zero/layout.h"
#include "train/zero/reducer.h"

namespace seekrl::train {

// Of f32 whatever the parameters' dtype is: sums in bf16 would depend on how a batch was cut (law 3). Where the layout
// has one rank, every rank of the group keeps all sums, otherwise those of its own pieces.
class Gradients {
 public:
  // The parameters require gradients from here until the end of this object. `group` may be null.
  Gradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
            std::shared_ptr<comm::ProcessGroup> group);
  virtual ~Gradients();
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;

  // The backward is about to add to the gradients of a unit, or has added all that it will.
  virtual void open(const Unit& unit) = 0;
  virtual void close(const Unit& unit) = 0;
  // After the backward of a micro-batch, when all units are closed.
  virtual void end_pass() = 0;

  // Sums over ranks, which all of them call. After it `own` is the sum of all micro-batches of all ranks.
  virtual void reduce() = 0;
  // Of a piece of this rank, flat; the same memory always.
  virtual at::Tensor own(const Piece& piece) const = 0;
  // Those of all pieces, and zeros between them.
  virtual const at::Tensor& sums() const = 0;
  virtual void zero() = 0;
  // A copy of what is summed so far for one parameter, over all ranks, which all of them call.
  at::Tensor total(size_t parameter) const;

 protected:
  // The part of the sum that this rank has.
  virtual void copy_own(size_t parameter, const at::Tensor& flat) const = 0;
  // With a gradient already in place, autograd adds to it.
  void attach(size_t parameter, const at::Tensor& flat);
  void detach(size_t parameter);
  void require_gradients();
  int rank() const { return layout_.num_ranks() == 1 ? 0 : group_->rank(); }

  std::vector<model::Parameter> parameters_;
  const Layout& layout_;
  std::shared_ptr<comm::ProcessGroup> group_;
};

// An arena of all gradients on every rank, which is summed over ranks before a step.
class WholeGradients : public Gradients {
 public:
  WholeGradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
                 std::shared_ptr<comm::ProcessGroup> group, at::ScalarType reduce_dtype);

  void open(const Unit&) override {}
  void close(const Unit&) override {}
  void end_pass() override {}
  void reduce() override;
  at::Tensor own(const Piece& piece) const override { return arena_.narrow(0, piece.place, piece.count); }
  const at::Tensor& sums() const override { return arena_; }
  void zero() override { arena_.zero_(); }

 protected:
  void copy_own(size_t parameter, const at::Tensor& flat) const override;

 private:
  void reduce_parts();

  Reducer reducer_;
  at::Tensor arena_;
};

// A rank's own share alone, and those of a unit while the backward adds to them: they are summed over ranks while it
// goes on through the next one, and freed. All ranks run the same number of passes.
class SharedGradients : public Gradients {
 public:
  // With num_leaves each micro-batch is a leaf of a binary tree of so many, a power of two and a multiple of the ranks:
  // pass p of rank r is leaf p * ranks + r, and what they add up to has the same bits for any number of ranks. 0:
  // ranks' sums are added in any order, and travel as reduce_dtype.
  SharedGradients(const std::vector<model::Parameter>& parameters, const Layout& layout,
                  std::shared_ptr<comm::ProcessGroup> group, int64_t num_leaves, at::ScalarType reduce_dtype);

  void open(const Unit& unit) override;
  void close(const Unit& unit) override;
  void end_pass() override;
  void reduce() override {}
  at::Tensor own(const Piece& piece) const override;
  const at::Tensor& sums() const override { return share_; }
  void zero() override;

 protected:
  void copy_own(size_t parameter, const at::Tensor& flat) const override;

 private:
  struct Reduction {
    size_t unit;
    Reducer::Part part;
  };

  size_t index_of(const Unit& unit) const { return static_cast<size_t>(&unit - layout_.units().data()); }
  at::Tensor share_of(size_t unit) const;
  void finish(size_t most_left);
  void add_leaves(size_t unit, at::Tensor sum);

  Reducer reducer_;
  int64_t num_subtrees_;  // of one leaf a rank each, that one round of the tree has; 0 without a tree
  at::Tensor share_;
  std::vector<at::Tensor> open_;  // by unit; undefined while closed
  std::deque<Reduction> reductions_;
  std::vector<std::vector<at::Tensor>> subtrees_;  // by unit: sums of powers of two of them, the largest first
  int64_t num_passes_ = 0;                         // of the round
};

}  // namespace seekrl::train
