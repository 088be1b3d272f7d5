// Copies between the host and a card that neither waits for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::ops {

// As many bytes as `to`, dense on a card, has; `from` may change when it returns.
void send(const at::Tensor& to, const void* from);

// Pinned memory for so many bytes, which a card's copies fill while the host goes on.
at::Tensor pinned_bytes(int64_t num_bytes, at::Device card);

// `x` of a card in pinned memory, once the stream has come so far.
at::Tensor copied_home(const at::Tensor& x);

}  // namespace seekrl::ops
