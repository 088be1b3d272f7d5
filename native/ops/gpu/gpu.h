// A GPU: the kernels for its numbers of 16 bits, opened while the process runs. What a GPU computes in f32 and f64 is
// ATen's.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "kernels/cuda/library.h"

namespace seekrl::ops {

// The path of a file beside this addon's own.
std::string beside_addon(const std::string& name);

// Opens the library for a device's kind from the addon's folder, once; ERR_DEVICE when it is not there or of another
// version. The kernels of kind PrivateUse1 are the tests' emulation.
void open_gpu(at::DeviceType type);

// Whether a product with this weight is the GPU's to compute.
inline bool uses_gpu_kernels(const at::Tensor& weight) {
  return !weight.device().is_cpu() && c10::isReducedFloatingType(weight.scalar_type());
}

// The kernels of the GPU that is open.
const cuda::Library& gpu();

// The current stream of a device, as its driver knows it.
void* stream_of(at::Device device);
inline void* stream_of(const at::Tensor& x) { return stream_of(x.device()); }

cuda::Dtype gpu_dtype(at::ScalarType dtype);
inline cuda::Dtype gpu_dtype(const at::Tensor& x) { return gpu_dtype(x.scalar_type()); }

// ERR_DEVICE with what the kernel says, unless it was started.
void require_launched(cuda::Status status);

// Null for an undefined one.
inline const void* data_or_null(const at::Tensor& x) { return x.defined() ? x.const_data_ptr() : nullptr; }

}  // namespace seekrl::ops
