// The lists that lib/model's safetensors reader makes, and the numbers of a tensor.
#include "node/tensor_values.h"

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

std::vector<int64_t> to_sizes(const Napi::Value& value) {
  require(value.IsArray(), ErrorCode::kArgument, "shape: expected a list of numbers");
  const auto list = value.As<Napi::Array>();
  std::vector<int64_t> sizes(list.Length());
  for (uint32_t i = 0; i < list.Length(); ++i) sizes[i] = to_integer(list.Get(i), "shape");
  return sizes;
}

Napi::Object named_shape(Napi::Env env, const std::string& name, at::IntArrayRef sizes) {
  Napi::Array shape = Napi::Array::New(env);
  for (const int64_t size : sizes) shape[shape.Length()] = static_cast<double>(size);
  Napi::Object entry = Napi::Object::New(env);
  entry["name"] = name;
  entry["shape"] = shape;
  return entry;
}

}  // namespace

std::vector<model::StoredTensor> to_stored_tensors(const Napi::Value& value) {
  require(value.IsArray(), ErrorCode::kArgument, "tensors: expected a list");
  const auto list = value.As<Napi::Array>();
  std::vector<model::StoredTensor> stored;
  for (uint32_t i = 0; i < list.Length(); ++i) {
    const Napi::Object entry = to_object(list.Get(i), "tensors");
    stored.push_back({text_of(entry, "name"), text_of(entry, "dtype"), to_sizes(entry.Get("shape")),
                      text_of(entry, "path"), static_cast<uint64_t>(integer_of(entry, "offset"))});
    const Napi::Value heads = entry.Get("pairedHeads");
    if (!heads.IsUndefined()) stored.back().num_paired_heads = to_integer(heads, "pairedHeads");
  }
  return stored;
}

Napi::Object tensor_entry(Napi::Env env, const std::string& name, at::IntArrayRef sizes, at::ScalarType dtype) {
  Napi::Object entry = named_shape(env, name, sizes);
  if (dtype == at::kByte) entry["dtype"] = "U8";
  if (dtype == at::kShort) entry["dtype"] = "I16";
  return entry;
}

Napi::Value to_whole_js(Napi::Env env, const std::vector<model::Parameter>& tensors, const SliceOf& slice_of) {
  Napi::Array list = Napi::Array::New(env);
  for (const auto& [name, value] : tensors) {
    std::vector<int64_t> sizes = value.sizes().vec();
    const model::Slice slice = slice_of(name);
    if (!slice.is_all()) sizes[static_cast<size_t>(slice.dim)] = slice.whole;
    list[list.Length()] = tensor_entry(env, name, sizes, value.scalar_type());
  }
  return list;
}

Napi::Value to_js(Napi::Env env, const std::vector<model::QuantParameter>& tensors) {
  Napi::Array list = Napi::Array::New(env);
  for (const auto& tensor : tensors) {
    Napi::Object entry = named_shape(env, tensor.name, {tensor.value.n(), tensor.value.k()});
    Napi::Array parts = Napi::Array::New(env);
    for (const auto& [name, value] : model::stored_parts(tensor)) {
      Napi::Object part = named_shape(env, name, value.sizes());
      part["dtype"] = value.scalar_type() == at::kByte ? "U8" : value.scalar_type() == at::kHalf ? "F16" : "F32";
      parts[parts.Length()] = part;
    }
    entry["parts"] = parts;
    list[list.Length()] = entry;
  }
  return list;
}

std::vector<float> to_floats(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* values = flat.const_data_ptr<float>();
  return {values, values + flat.numel()};
}

}  // namespace seekrl::node
