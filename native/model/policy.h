// What generates and what training changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/adapters/adapter.h"
#include "model/adapters/adapter_rows.h"
#include "model/decoder.h"

namespace seekrl::model {

// Every parameter; ERR_STATE when some weights are quantised, which no step may change.
inline const std::vector<Parameter>& trainable(const Decoder& decoder) {
  require(decoder.quantised().empty(), ErrorCode::kState,
          "training: the weights are quantised and stay as they are; load the model without `weights`");
  return decoder.parameters();
}

// A decoder as it is, or with an adapter on it: what generates and what is trained.
struct Policy {
  std::shared_ptr<Decoder> decoder;
  std::shared_ptr<Adapter> adapter;  // null without one

  // What training changes: the adapter's numbers alone where there is one.
  const std::vector<Parameter>& parameters() const { return adapter ? adapter->parameters() : trainable(*decoder); }
  // 0 without an adapter.
  int64_t adapter_number() const { return adapter ? adapter->id() : 0; }
  // What this rank holds of a parameter.
  Slice slice_of(const std::string& name) const { return adapter ? adapter->slice_of(name) : decoder->slice_of(name); }
  const TensorParallel& parallel() const { return decoder->parallel(); }
  AdapterRows rows() const { return AdapterRows(adapter); }
  int64_t version() const { return adapter ? adapter->version() : decoder->weights_version(); }
  void changed() const { adapter ? adapter->changed() : decoder->weights_changed(); }
  void changed_to(int64_t version) const {
    adapter ? adapter->changed_to(version) : decoder->weights_changed_to(version);
  }
};

}  // namespace seekrl::model
