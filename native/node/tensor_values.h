// Tensors and what files say of them, from and to JavaScript.
#pragma once

#include <napi.h>

#include <functional>
#include <string>
#include <vector>

#include "model/decoder.h"
#include "model/weights.h"

namespace seekrl::node {

std::vector<model::StoredTensor> to_stored_tensors(const Napi::Value& value);

// {name, shape, dtype}, the last where it is no floating type.
Napi::Object tensor_entry(Napi::Env env, const std::string& name, at::IntArrayRef sizes, at::ScalarType dtype);

// [{name, shape, dtype}], in order, in the shapes of which this rank has slices. They never change, so any thread may
// read them.
using SliceOf = std::function<model::Slice(const std::string& name)>;
Napi::Value to_whole_js(Napi::Env env, const std::vector<model::Parameter>& tensors, const SliceOf& slice_of);

// [{name, shape, parts: {name, shape, dtype}[]}] of quantised weights, with what a file holds of each.
Napi::Value to_js(Napi::Env env, const std::vector<model::QuantParameter>& tensors);

// Device thread: the tensor's numbers in row-major order.
std::vector<float> to_floats(const at::Tensor& tensor);

}  // namespace seekrl::node
