// Weights are copied out of the mapped file, since training changes them.
#include "model/weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/new_file.h"

namespace seekrl::model {

namespace {

using TensorsByName = std::unordered_map<std::string, const StoredTensor*>;
using FilesByPath = std::map<std::string, MappedFile>;

at::ScalarType scalar_type(const std::string& dtype, const std::string& name) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "BF16") return at::kBFloat16;
  fail(ErrorCode::kFormat, name, ": dtype: expected F32, F16 or BF16, got ", dtype);
}

void copy_from(const StoredTensor& stored, const MappedFile& file, at::Tensor& value) {
  // The bytes may lie at any address, so they are first copied to where their type may be read.
  at::Tensor source = at::empty(value.sizes(), scalar_type(stored.dtype, stored.name));
  require(stored.offset <= file.size() && source.nbytes() <= file.size() - stored.offset, ErrorCode::kFormat,
          stored.path, ": ", stored.name, " ends beyond the file's ", file.size(), " bytes");
  std::memcpy(source.mutable_data_ptr(), file.data() + stored.offset, source.nbytes());
  value.copy_(source);
}

// What Hugging Face ignores as well: buffers of old releases, and the head's copy in a tied model.
bool is_ignored(const std::string& name, const DecoderConfig& config) {
  if (name == "lm_head.weight") return config.tie_embeddings;
  return name.find(".rotary_emb.inv_freq") != std::string::npos;
}

using IsIgnored = std::function<bool(const std::string&)>;

void check_names(const std::vector<Parameter>& tensors, const TensorsByName& by_name, const IsIgnored& is_ignored) {
  std::unordered_set<std::string> known;
  for (const Parameter& tensor : tensors) known.insert(tensor.name);
  for (const auto& [name, stored] : by_name) {
    require(known.count(name) > 0 || is_ignored(name), ErrorCode::kFormat, stored->path,
            ": holds a tensor that the model has not: ", name);
  }
}

const StoredTensor& find(const TensorsByName& by_name, const Parameter& parameter) {
  const auto found = by_name.find(parameter.name);
  require(found != by_name.end(), ErrorCode::kFormat, "weights: missing tensor ", parameter.name, " of shape ",
          parameter.value.sizes());
  const StoredTensor& stored = *found->second;
  require(parameter.value.sizes() == at::IntArrayRef(stored.shape), ErrorCode::kFormat, stored.path, ": ", stored.name,
          ": expected shape ", parameter.value.sizes(), ", got ", at::IntArrayRef(stored.shape));
  return stored;
}

void fill(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored, const IsIgnored& is_ignored) {
  at::NoGradGuard no_grad;
  TensorsByName by_name;
  for (const StoredTensor& tensor : stored) {
    require(by_name.emplace(tensor.name, &tensor).second, ErrorCode::kFormat, tensor.path, ": ", tensor.name,
            " stands in two files");
  }
  check_names(tensors, by_name, is_ignored);
  FilesByPath files;
  for (const Parameter& parameter : tensors) {
    const StoredTensor& tensor = find(by_name, parameter);
    const MappedFile& file = files.try_emplace(tensor.path, tensor.path).first->second;
    at::Tensor value = parameter.value;
    copy_from(tensor, file, value);
  }
}

}  // namespace

void read_weights(Decoder& decoder, const std::vector<StoredTensor>& stored) {
  fill(decoder.parameters(), stored, [&](const std::string& name) { return is_ignored(name, decoder.config()); });
  decoder.weights_changed();
}

void read_tensors(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored) {
  fill(tensors, stored, [](const std::string&) { return false; });
}

void write_weights(const Decoder& decoder, const std::string& path, const std::string& header,
                   const std::vector<std::string>& names, const std::string& dtype) {
  std::vector<Parameter> tensors;
  for (const std::string& name : names) tensors.push_back({name, decoder.parameter(name)});
  write_tensors(tensors, path, header, dtype);
}

void write_tensors(const std::vector<Parameter>& tensors, const std::string& path, const std::string& header,
                   const std::string& dtype) {
  at::NoGradGuard no_grad;
  NewFile file(path);
  file.write(header.data(), header.size());
  for (const Parameter& tensor : tensors) {
    const at::Tensor value = tensor.value.to(at::kCPU, scalar_type(dtype, tensor.name)).contiguous();
    file.write(value.const_data_ptr(), value.nbytes());
  }
  file.publish();
}

std::shared_ptr<Decoder> clone(const Decoder& decoder) {
  at::NoGradGuard no_grad;
  auto copy = std::make_shared<Decoder>(decoder.config(), decoder.dtype(), decoder.device());
  for (size_t i = 0; i < decoder.parameters().size(); ++i) {
    at::Tensor value = copy->parameters()[i].value;
    value.copy_(decoder.parameters()[i].value);
  }
  copy->weights_changed();
  return copy;
}

}  // namespace seekrl::model
