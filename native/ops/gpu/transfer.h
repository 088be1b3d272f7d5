// Copies between the host and a GPU that neither waits for.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace seekrl::ops {

// [count], whose values are whatever the memory held.
at::Tensor empty_list(int64_t count, at::ScalarType dtype, at::Device device);

// As many bytes as `to`, dense on a GPU or the CPU, has; `from` may change when it returns.
void send(const at::Tensor& to, const void* from);

// A list on a device, [count], which nobody waits for; of bytes, integers or floats.
template <class Value>
at::Tensor copy_to_gpu(const std::vector<Value>& values, at::Device device) {
  const at::Tensor there = empty_list(std::ssize(values), c10::CppTypeToScalarType<Value>::value, device);
  send(there, values.data());
  return there;
}

// The same of a tensor of the host, which is dense.
at::Tensor copy_to_gpu(const at::Tensor& values, at::Device device);

// Pinned memory for so many bytes, which a GPU's copies fill while the host goes on.
at::Tensor pinned_bytes(int64_t num_bytes, at::Device gpu);

// `x` of a GPU in pinned memory, once the stream has come so far.
at::Tensor copy_to_host(const at::Tensor& x);

// Lists that go to a GPU together.
class StagedLists {
 public:
  // The place of `count` values; every list begins at a multiple of 16 bytes.
  template <class Value>
  size_t add(const Value* values, size_t count) {
    const size_t at = bytes_.size();
    const auto* const from = reinterpret_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), from, from + count * sizeof(Value));
    bytes_.resize((bytes_.size() + 15) / 16 * 16);
    return at;
  }
  template <class Value>
  size_t add(const std::vector<Value>& values) {
    return add(values.data(), values.size());
  }
  size_t size() const { return bytes_.size(); }
  // u8 [size]
  at::Tensor copy_to_gpu(at::Device device) const;

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace seekrl::ops
