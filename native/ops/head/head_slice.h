// A head of which several ranks have rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace seekrl::ops {

// Which rows of `whole` these begin at, and how ranks tell one another what each made of its own: [...] of this one ->
// [N, ...] of all N, in their order.
struct HeadSlice {
  int64_t first = 0, whole = 0;
  std::function<at::Tensor(const at::Tensor& own)> gather = {};

  bool is_all() const { return whole == 0; }
};

}  // namespace seekrl::ops
