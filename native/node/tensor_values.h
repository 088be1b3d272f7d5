// Tensors and what files say of them, from and to JavaScript.
#pragma once

#include <napi.h>

#include <vector>

#include "model/decoder.h"
#include "model/weights.h"

namespace seekrl::node {

std::vector<model::StoredTensor> to_stored_tensors(const Napi::Value& value);

// [{name, shape, dtype}], in order. They never change, so any thread may read them.
Napi::Value to_js(Napi::Env env, const std::vector<model::Parameter>& tensors);

// [{name, shape, parts: {name, shape, dtype}[]}] of quantised weights, with what a file holds of each.
Napi::Value to_js(Napi::Env env, const std::vector<model::QuantParameter>& tensors);

// Device thread: the tensor's numbers in row-major order.
std::vector<float> to_floats(const at::Tensor& tensor);

}  // namespace seekrl::node
