// Where the activations of a training step live on the CPU.
#pragma once

namespace seekrl::train {

// While one lives, large tensors that this thread makes come from an arena (base/arena.h), which keeps their memory for
// the next step until the engine generates; they may outlive it.
class ActivationScope {
 public:
  ActivationScope();
  ~ActivationScope();
  ActivationScope(const ActivationScope&) = delete;
  ActivationScope& operator=(const ActivationScope&) = delete;

 private:
  bool was_active_;
};

}  // namespace seekrl::train
