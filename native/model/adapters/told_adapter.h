// An adapter that all ranks of its decoder have: what rank 0 asks of it, the others do too.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/adapters/adapter.h"
#include "model/decoder.h"
#include "model/stored/stored_tensor.h"

namespace seekrl::model {

std::shared_ptr<Adapter> open_adapter(const Decoder& decoder, AdapterOptions options, uint64_t seed);
std::shared_ptr<Adapter> copy_adapter(const Decoder& decoder, const Adapter& source);

// Replaces the numbers in place; throws as read_tensors (weights.h).
void read_adapter(Adapter& adapter, const std::vector<StoredTensor>& stored);
// As f32, each tensor whole.
void write_adapter(const Adapter& adapter, const std::string& path, const std::string& header);
// Of one tensor, by its name or its place. ERR_ARGUMENT where none is called so.
at::Tensor whole_parameter(const Adapter& adapter, const std::string& name);
at::Tensor whole_parameter(const Adapter& adapter, size_t place);

}  // namespace seekrl::model
