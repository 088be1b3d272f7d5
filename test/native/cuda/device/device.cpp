// The device `emulated` of libtorch: memory of its own, every operator by way of the CPU, and the kernels on the
// emulator. What drives a card drives it too, without one.
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstring>

#include "device/counted.h"
#include "emulator/launch.h"

namespace seekrl::emulator {

namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

class Memory final : public CountedAllocator {
 public:
  c10::DataPtr allocate(size_t num_bytes) override {
    void* const block = take_bytes(num_bytes);
    return {block, block, &give_bytes, c10::Device(kType, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &give_bytes; }
  void copy_data(void* to, const void* from, size_t count) const override { std::memcpy(to, from, count); }
};
Memory memory;

// One device with one stream, on which all is done as soon as it is asked for.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  static constexpr c10::DeviceType static_type = kType;
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  c10::Device getDevice() const override { return {kType, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, getDevice()); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  void* getStreamNativeHandle(const c10::Stream) const override { return nullptr; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
};

const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

at::Tensor make_empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                      std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &memory, kKeys, c10::dtype_or_default(dtype), format);
}

at::Tensor make_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &memory, kKeys, c10::dtype_or_default(dtype));
}

// The same memory as the CPU sees it.
at::Tensor host_view(const at::Tensor& x) {
  return x.is_cpu() ? x : at::from_blob(x.data_ptr(), x.sizes(), x.strides(), x.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  host_view(to).copy_(host_view(from));
  return to;
}

// What an operator on the CPU made, to where it belongs, which may have had no size yet.
at::Tensor copy_result(const at::Tensor& from, const at::Tensor& to) {
  if (from.sizes() != to.sizes()) {
    c10::TensorImpl* const impl = to.unsafeGetTensorImpl();
    impl->set_storage_keep_dtype(at::empty(from.sizes(), to.options()).storage());
    impl->set_sizes_contiguous(from.sizes());
  }
  return copy_from(from, to, false);
}

at::Tensor as_strided(const at::Tensor& x, c10::IntArrayRef size, c10::IntArrayRef stride,
                      std::optional<int64_t> offset) {
  auto view = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(x.storage()), x.key_set(),
                                                       x.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, offset.value_or(x.storage_offset()));
  return view;
}

at::Tensor view(const at::Tensor& x, c10::IntArrayRef size) {
  const auto inferred = at::infer_size_dv(size, x.numel());
  const auto stride = at::detail::computeStride(x.sizes(), x.strides(), inferred);
  TORCH_CHECK(stride.has_value(), "view: the tensor's memory has no such shape");
  return as_strided(x, inferred, *stride, std::nullopt);
}

at::Tensor reshape_alias(const at::Tensor& x, c10::IntArrayRef size, c10::IntArrayRef stride) {
  return as_strided(x, size, stride, std::nullopt);
}

void by_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &make_empty);
  library.impl("empty_strided", &make_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_result);
  library.impl("as_strided", &as_strided);
  library.impl("view", &view);
  library.impl("_reshape_alias", &reshape_alias);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) { library.fallback(torch::CppFunction::makeFromBoxedFunction<&by_cpu>()); }

// Once the library is opened. A thread of ours ends with its launch, and its fibers with it: blocks run on the
// caller's, which keeps them.
const bool is_registered = [] {
  max_workers = 1;
  c10::register_privateuse1_backend("emulated");
  c10::SetAllocator(kType, &memory);
  at::RegisterPrivateUse1HooksInterface(new Hooks);  // lives as long as the process
  return true;
}();

}  // namespace

}  // namespace seekrl::emulator
