// One micro-batch through the layers: opens and closes units as forward and backward come to them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/pass/pass_observer.h"
#include "train/zero/gradients.h"
#include "train/zero/layout.h"
#include "train/zero/weights.h"

namespace seekrl::train {

// All ranks make the same calls of collectives in the same order, whatever their micro-batches are; a rank that has
// none calls `idle`.
class Pass : public model::PassObserver {
 public:
  Pass(const Layout& layout, Gradients& gradients, Weights& weights);

  void begin();
  void forward_at(int64_t layer) override;
  void backward_at(int64_t layer) override;
  // After the backward, however far down it came.
  void end();

  // What a micro-batch without tokens does.
  void idle();

 private:
  const Unit* layer(int64_t layer) const;

  const Layout& layout_;
  Gradients& gradients_;
  Weights& weights_;
  int64_t num_layers_;
  int64_t backward_;  // the layer that the backward goes through
};

}  // namespace seekrl::train
