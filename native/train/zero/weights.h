// Weights of which each rank updates its own pieces.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/process_group.h"
#include "model/parameter.h"
#include "train/zero/layout.h"

namespace seekrl::train {

// Device thread only.
class Weights {
 public:
  virtual ~Weights() = default;

  // Of a piece of this rank, flat; what an update writes. The same memory always.
  virtual at::Tensor own(const Piece& piece) const = 0;
  // Before and after the update of the pieces; all ranks call them, and those below.
  virtual void begin_update() {}
  virtual void end_update() {}
  // A unit's weights are whole from `need` until `release`; `expect` says that they will be needed soon.
  virtual void expect(const Unit&) {}
  virtual void need(const Unit&) {}
  virtual void release(const Unit&) {}
  // All of them from here on, until a pass or an update begins.
  virtual void gather() {}
  // Whether this rank has but its pieces, and what somebody needs now.
  virtual bool are_parted() const { return false; }
  virtual void begin_pass() {}
};

// Every rank has all weights. `group` may be null.
class WholeWeights : public Weights {
 public:
  WholeWeights(const std::vector<model::Parameter>& parameters, const Layout& layout,
               std::shared_ptr<comm::ProcessGroup> group);

  at::Tensor own(const Piece& piece) const override;
  // Each gets the pieces of the others, in the weights' dtype.
  void end_update() override;

 private:
  at::Tensor flat(size_t parameter) const { return parameters_[parameter].value.detach().view({-1}); }
  at::Tensor own_part(const Unit& unit) const;
  void fill(const Unit& unit, const at::Tensor& all) const;

  std::vector<model::Parameter> parameters_;
  const Layout& layout_;
  std::shared_ptr<comm::ProcessGroup> group_;
};

// Every rank has its pieces, and of others what somebody needs now. The parameters are without memory in between. Where
// one has none from the beginning, pieces of such parameters are for the caller to fill.
class SharedWeights : public Weights {
 public:
  SharedWeights(const std::vector<model::Parameter>& parameters, const Layout& layout,
                std::shared_ptr<comm::ProcessGroup> group);
  // Whoever has the parameters next finds them without memory, unless they are whole.
  ~SharedWeights() override = default;

  at::Tensor own(const Piece& piece) const override;
  void begin_update() override;
  void expect(const Unit& unit) override;
  void need(const Unit& unit) override;
  void release(const Unit& unit) override;
  void gather() override;
  bool are_parted() const override { return !are_all_whole_; }
  void begin_pass() override { scatter(); }

 private:
  // The state of one unit.
  struct Share {
    at::Tensor own;  // [part]
    at::Tensor all;  // while it is gathered, or is whole
    comm::Pending pending;
    bool is_whole = true;
  };

  Share& share_of(const Unit& unit) { return shares_[static_cast<size_t>(&unit - layout_.units().data())]; }
  void scatter();
  void keep_own(const Unit& unit, Share& share);

  std::vector<model::Parameter> parameters_;
  const Layout& layout_;
  std::shared_ptr<comm::ProcessGroup> group_;
  std::vector<Share> shares_;  // by unit
  bool are_all_whole_ = true;  // as they were given: what others wrote into them is what counts
};

}  // namespace seekrl::train
