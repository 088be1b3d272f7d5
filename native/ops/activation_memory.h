// Where the activations of a step of training or generation live on the CPU.
#pragma once

namespace seekrl::ops {

// While one lives, large tensors that this thread makes come from an arena (base/arena.h), which keeps their memory for
// the next step; they may outlive it. What training took is given back when the engine generates.
class ActivationScope {
 public:
  ActivationScope();
  ~ActivationScope();
  ActivationScope(const ActivationScope&) = delete;
  ActivationScope& operator=(const ActivationScope&) = delete;

 private:
  bool was_active_;
};

}  // namespace seekrl::ops
