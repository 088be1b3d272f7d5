// Who wants to know how far a training pass has come: weights can be there when a layer needs them, and its gradients
// be taken when they are summed.
#pragma once

#include <cstdint>

namespace seekrl::model {

// Told on the thread that runs the pass. L is the number of layers.
class PassObserver {
 public:
  virtual ~PassObserver() = default;
  // The forward is about to run this layer, from 0 up to L, which stands for what follows them.
  virtual void forward_at(int64_t layer) = 0;
  // All gradients of this layer and those above are summed, and the backward is about to go through the layer below;
  // from L, before which nothing of the layers has happened, down to 0. Those below which nothing is trained are left
  // out.
  virtual void backward_at(int64_t layer) = 0;
};

}  // namespace seekrl::model
