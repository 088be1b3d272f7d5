// Through pinned memory, which libtorch keeps until the copy is done.
#include "ops/gpu/transfer.h"

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cstring>

namespace seekrl::ops {

at::Tensor pinned_bytes(int64_t num_bytes, at::Device gpu) {
  const at::TensorOptions options = at::TensorOptions(at::kByte).device(at::kCPU);
  return at::empty({num_bytes}, gpu.is_cpu() ? options : options.pinned_memory(true));
}

at::Tensor empty_list(int64_t count, at::ScalarType dtype, at::Device device) {
  return at::empty({count}, at::device(device).dtype(dtype));
}

void send(const at::Tensor& to, const void* from) {
  if (to.is_cpu()) {
    std::memcpy(to.mutable_data_ptr(), from, to.nbytes());
    return;
  }
  const at::Tensor staged = pinned_bytes(static_cast<int64_t>(to.nbytes()), to.device());
  std::memcpy(staged.mutable_data_ptr(), from, to.nbytes());
  to.copy_(staged.view(to.scalar_type()).view(to.sizes()), /*non_blocking=*/true);
}

at::Tensor copy_to_gpu(const at::Tensor& values, at::Device device) {
  TORCH_INTERNAL_ASSERT(values.is_cpu() && values.is_contiguous());
  const at::Tensor there = at::empty(values.sizes(), values.options().device(device));
  send(there, values.const_data_ptr());
  return there;
}

at::Tensor copy_to_host(const at::Tensor& x) {
  const at::Tensor host = pinned_bytes(static_cast<int64_t>(x.nbytes()), x.device());
  return host.view(x.scalar_type()).view(x.sizes()).copy_(x, /*non_blocking=*/true);
}

at::Tensor StagedLists::copy_to_gpu(at::Device device) const {
  const at::Tensor there = empty_list(std::ssize(bytes_), at::kByte, device);
  send(there, bytes_.data());
  return there;
}

}  // namespace seekrl::ops
