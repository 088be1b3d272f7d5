// dlopen, once a process: there is one kind of GPU in it.
#include "ops/gpu/gpu.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <string>

#include "base/error.h"

namespace seekrl::ops {

namespace {

const cuda::Library* library = nullptr;

std::string kernels_of(at::DeviceType type) {
  return type == at::DeviceType::PrivateUse1 ? "libseekrl_emulated.so" : "libseekrl_cuda.so";
}

const cuda::Library* opened(at::DeviceType type) {
  const std::string path = beside_addon(kernels_of(type));
  void* const file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(file != nullptr, ErrorCode::kDevice, "device: the kernels for it are not here: ", dlerror(),
          "; build them with `npm run build` where nvcc is installed");
  using Find = const cuda::Library* (*)();
  const auto find = reinterpret_cast<Find>(dlsym(file, SEEKRL_LIBRARY_SYMBOL));
  const cuda::Library* const found = find == nullptr ? nullptr : find();
  require(found != nullptr && found->size == sizeof(cuda::Library), ErrorCode::kDevice, "device: ", path,
          " is of another version; build both with `npm run build`");
  return found;
}

}  // namespace

std::string beside_addon(const std::string& name) {
  Dl_info info;
  TORCH_INTERNAL_ASSERT(dladdr(reinterpret_cast<const void*>(&beside_addon), &info) != 0);
  const std::string own = info.dli_fname;
  return own.substr(0, own.rfind('/') + 1) + name;
}

void open_gpu(at::DeviceType type) {
  static at::DeviceType kind = at::kCPU;
  if (library == nullptr) {
    library = opened(type);
    kind = type;
  }
  require(kind == type, ErrorCode::kDevice, "device: expected one kind of GPU a process, got a second");
}

const cuda::Library& gpu() {
  TORCH_INTERNAL_ASSERT(library != nullptr);
  return *library;
}

void* stream_of(at::Device device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  return guard.getStreamNativeHandle(guard.getStream(device));
}

cuda::Dtype gpu_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16: return cuda::Dtype::kBf16;
    case at::kHalf: return cuda::Dtype::kF16;
    case at::kFloat: return cuda::Dtype::kFloat;
    default: fail(ErrorCode::kDtype, "GPU: expected numbers of bf16, f16 or f32, got ", dtype);
  }
}

void require_launched(cuda::Status status) { require(status == nullptr, ErrorCode::kDevice, "GPU: ", status); }

}  // namespace seekrl::ops
