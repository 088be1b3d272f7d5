// Unit 0 stays from the beginning to the end; layers come and go.
#include "train/zero/pass.h"

namespace seekrl::train {

Pass::Pass(const Layout& layout, Gradients& gradients, Weights& weights)
    : layout_(layout), gradients_(gradients), weights_(weights), num_layers_(layout.num_layers()) {}

// Null where nothing of a layer is trained.
const Unit* Pass::layer(int64_t layer) const { return layout_.unit_of(layer); }

void Pass::begin() {
  backward_ = num_layers_;
  weights_.begin_pass();
  weights_.need(layout_.units().front());
  gradients_.open(layout_.units().front());
}

void Pass::forward_at(int64_t at) {
  const Unit* const before = layer(at - 1);
  if (before != nullptr && at < num_layers_) weights_.release(*before);  // the last one is the backward's first
  if (const Unit* own = layer(at)) weights_.need(*own);
  if (const Unit* next = layer(at + 1)) weights_.expect(*next);
}

void Pass::backward_at(int64_t at) {
  while (backward_ >= at) {
    if (const Unit* done = layer(backward_)) {
      weights_.release(*done);
      gradients_.close(*done);
    }
    --backward_;
    if (const Unit* own = layer(backward_)) {
      weights_.need(*own);
      gradients_.open(*own);
    }
    if (const Unit* next = layer(backward_ - 1)) weights_.expect(*next);
  }
}

void Pass::end() {
  backward_at(0);
  weights_.release(layout_.units().front());
  gradients_.close(layout_.units().front());
  gradients_.end_pass();
}

void Pass::idle() {
  begin();
  for (int64_t at = 0; at <= num_layers_; ++at) forward_at(at);
  end();
}

}  // namespace seekrl::train
