// The device `emulated` of libtorch: memory of its own, every operator by way of the CPU, and the kernels on the
// emulator. What drives a GPU drives it too, without one.
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/ScopeExit.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/memory.h"
#include "device/stream.h"
#include "emulator/launch.h"

namespace seekrl::emulator {

namespace {

const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

at::Tensor make_empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                      std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &device_memory(), kKeys, c10::dtype_or_default(dtype), format);
}

at::Tensor make_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &device_memory(), kKeys, c10::dtype_or_default(dtype));
}

// The same memory as the CPU sees it.
at::Tensor host_view(const at::Tensor& x) {
  return x.is_cpu() ? x : at::from_blob(x.data_ptr(), x.sizes(), x.strides(), x.options().device(at::kCPU));
}

bool is_ready(const at::Tensor& x) { return !x.is_cpu() || is_pinned(x.const_data_ptr()); }

// How many operators of this thread are on their way by the CPU: their own copies are none of a GPU's.
thread_local int num_by_cpu = 0;

// In the stream's order where no memory of the host's is in it that may change before.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const bool is_within = !from.is_cpu() && !to.is_cpu();
  // Pinned memory would be somebody else's at the next replay.
  TORCH_CHECK(is_within || recording() == nullptr, "emulated: memory of the host's in a graph");
  const auto copy = [from = host_view(from), to = host_view(to), source = from, target = to] { to.copy_(from); };
  if (is_within || (non_blocking && is_ready(from) && is_ready(to))) {
    submit(copy);
  } else {
    if (num_by_cpu == 0) note_wait(from.is_cpu() ? "copy to the GPU" : "copy home");
    finish();
    copy();
  }
  return to;
}

// Whether libtorch's operator of a CUDA GPU reads home what it needs to go on.
bool waits_on_gpu(const std::string& name) {
  static const std::set<std::string> waiting = {
      "aten::_local_scalar_dense", "aten::_unique2", "aten::bincount",          "aten::equal",
      "aten::masked_select",       "aten::nonzero",  "aten::repeat_interleave", "aten::unique_consecutive"};
  return waiting.contains(name);
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

// While a graph is captured, unless a test wants none there: run now for the shapes, and again at each replay, into
// what was made now.
void record_op(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  TORCH_CHECK(name != "aten::_local_scalar_dense", "emulated: a number is read while a graph is captured");
  TORCH_CHECK(std::getenv("SEEKRL_EMULATED_LAUNCHES_ALONE") == nullptr, "emulated: ", name, " in a graph");
  const torch::jit::Stack inputs = *stack;
  const std::shared_ptr<Recording> paused = end_recording();
  at::native::cpu_fallback(op, stack);
  begin_recording(paused);
  submit([op, inputs, outputs = *stack] {
    torch::jit::Stack again = inputs;
    at::native::cpu_fallback(op, &again);
    for (size_t i = 0; i < again.size(); ++i) {
      if (again[i].isTensor() && again[i].toTensor().defined())
        host_view(outputs[i].toTensor()).copy_(host_view(again[i].toTensor()));
    }
  });
}

// Of numbers with a fraction: a GPU adds them in an order of its own, each time another.
bool adds_by_atomics(const std::string& name, const torch::jit::Stack& stack) {
  static const std::set<std::string> names = {"aten::index_add",
                                              "aten::index_add_",
                                              "aten::scatter_add",
                                              "aten::scatter_add_",
                                              "aten::index_reduce",
                                              "aten::index_reduce_",
                                              "aten::embedding_dense_backward"};
  return names.contains(name) && std::any_of(stack.begin(), stack.end(), [](const c10::IValue& value) {
           return value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point();
         });
}

// What a CUDA GPU takes for a sum in another dtype: a copy of all that is added, but of 16 bits in f32.
c10::DataPtr widened_copy(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  static const std::set<std::string> sums = {"aten::linalg_vector_norm", "aten::mean", "aten::norm", "aten::sum"};
  const std::optional<int> place = op.schema().argumentIndexWithName("dtype");
  if (!sums.contains(op.schema().name()) || !place) return {};
  const c10::IValue* const arguments = &*(stack.end() - std::ssize(op.schema().arguments()));
  if (arguments[*place].isNone()) return {};
  const at::Tensor& x = arguments[0].toTensor();
  const at::ScalarType dtype = arguments[*place].toScalarType();
  const bool is_free = dtype == x.scalar_type() || (dtype == at::kFloat && at::isReducedFloatingType(x.scalar_type()));
  return is_free ? c10::DataPtr() : device_memory().allocate(static_cast<size_t>(x.numel()) * at::elementSize(dtype));
}

void by_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (recording() != nullptr) return record_op(op, stack);
  const std::string& name = op.schema().name();
  TORCH_CHECK(!adds_by_atomics(name, *stack), "emulated: ", name, " would add in any order on a GPU");
  if (num_by_cpu == 0 && waits_on_gpu(name)) note_wait(name);
  finish();
  ++num_by_cpu;
  const auto left = c10::make_scope_exit([] { --num_by_cpu; });
  const c10::DataPtr copy = widened_copy(op, *stack);
  at::native::cpu_fallback(op, stack);
}

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
  c10::SetAllocator(kType, &device_memory());
  defer = &submit;
  return true;
}();

}  // namespace

}  // namespace seekrl::emulator
