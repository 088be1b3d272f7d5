// The weight of a product: a tensor, or a quantised one.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "ops/quant/quant_weight.h"

namespace seekrl::ops {

struct Weight {
  at::Tensor plain_NK;
  QuantWeight quant;  // one of the two

  Weight() = default;
  Weight(at::Tensor plain) : plain_NK(std::move(plain)) {}      // NOLINT: a tensor is a weight
  Weight(QuantWeight quant_NK) : quant(std::move(quant_NK)) {}  // NOLINT

  bool is_quant() const { return quant.defined(); }
  int64_t n() const { return is_quant() ? quant.n() : plain_NK.size(0); }
  int64_t k() const { return is_quant() ? quant.k() : plain_NK.size(1); }
};

}  // namespace seekrl::ops
