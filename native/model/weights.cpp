// Weights are copied out of the mapped file, since training changes them.
#include "model/weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "model/gguf/stored_rows.h"

namespace seekrl::model {

namespace {

using FilesByPath = std::map<std::string, MappedFile>;

at::ScalarType scalar_type(const std::string& dtype, const std::string& name) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "F16") return at::kHalf;
  if (dtype == "BF16") return at::kBFloat16;
  if (dtype == "U8") return at::kByte;
  if (dtype == "I16") return at::kShort;
  fail(ErrorCode::kFormat, name, ": dtype: expected F32, F16, BF16, U8 or I16, got ", dtype);
}

// The type that is stored, of a tensor whose bytes are all there and may be copied to `value`.
at::ScalarType check_stored(const StoredTensor& stored, const MappedFile& file, const at::Tensor& value) {
  const at::ScalarType dtype = scalar_type(stored.dtype, stored.name);
  const bool is_number = at::isFloatingType(dtype) && at::isFloatingType(value.scalar_type());
  require(is_number || dtype == value.scalar_type(), ErrorCode::kFormat, stored.path, ": ", stored.name,
          ": expected numbers of ", value.scalar_type(), ", got ", stored.dtype);
  const size_t num_bytes = static_cast<size_t>(value.numel()) * at::elementSize(dtype);
  require(stored.offset <= file.size() && num_bytes <= file.size() - stored.offset, ErrorCode::kFormat, stored.path,
          ": ", stored.name, " ends beyond the file's ", file.size(), " bytes");
  return dtype;
}

void copy_from(const StoredTensor& stored, const MappedFile& file, at::Tensor& value) {
  if (needs_rows(stored)) return copy_rows(stored, file, value);
  // The bytes may lie at any address, so they are first copied to where their type may be read.
  const at::ScalarType dtype = check_stored(stored, file, value);
  const size_t element = at::elementSize(dtype);
  // In pieces, the file's memory given back on the way, so that a tensor is there once.
  constexpr int64_t kPiece = int64_t{1} << 20;
  const at::Tensor flat = value.view({-1}), source = at::empty({std::min(kPiece, value.numel())}, dtype);
  for (int64_t first = 0; first < value.numel(); first += kPiece) {
    const int64_t count = std::min(kPiece, value.numel() - first);
    const size_t offset = stored.offset + static_cast<size_t>(first) * element,
                 size = static_cast<size_t>(count) * element;
    std::memcpy(source.mutable_data_ptr(), file.data() + offset, size);
    flat.narrow(0, first, count).copy_(source.narrow(0, 0, count));
    file.release(offset, size);
  }
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

// transformers unties such a model; loaded as the config says it would be another one.
void check_tied_head(const Decoder& decoder, const std::vector<StoredTensor>& stored) {
  const TensorsByName tensors = by_name(stored);
  const auto found = tensors.find("lm_head.weight");
  if (found == tensors.end() || !decoder.config().tie_embeddings) return;
  const Parameter& embedding = decoder.parameters().front();
  const StoredTensor& head = find_tensor(tensors, "lm_head.weight", embedding.value.sizes());
  at::Tensor value = at::empty_like(embedding.value, at::device(at::kCPU));
  copy_from(head, MappedFile(head.path), value);
  require(value.equal(embedding.value.to(at::kCPU)), ErrorCode::kFormat, head.path,
          ": lm_head.weight differs from model.embed_tokens.weight, but config.json ties them; set "
          "tie_word_embeddings to false");
}

template <class Bits>
bool all_finite(const void* data, size_t num_bytes, Bits exponent) {
  const auto* values = static_cast<const Bits*>(data);
  const size_t count = num_bytes / sizeof(Bits);
  size_t num_wrong = 0;
  for (size_t i = 0; i < count; ++i) num_wrong += (values[i] & exponent) == exponent ? 1 : 0;
  return num_wrong == 0;
}

// Numbers whose exponent is all ones are infinite or none at all.
void check_finite(const at::Tensor& value, const std::string& path, const std::string& name) {
  const void* data = value.const_data_ptr();
  const at::ScalarType dtype = value.scalar_type();
  const bool is_finite = dtype == at::kFloat
                             ? all_finite<uint32_t>(data, value.nbytes(), 0x7f800000)
                             : all_finite<uint16_t>(data, value.nbytes(), dtype == at::kHalf ? 0x7c00 : 0x7f80);
  require(is_finite, ErrorCode::kRange, path, ": ", name, ": expected finite numbers; nothing was written");
}

void quantise_stored(ops::QuantWeight& weight, const StoredTensor& stored) {
  const MappedFile file(stored.path);
  const StoredRows stored_rows(stored, file);
  ops::quantise(weight, stored.path + ": " + stored.name,
                [&](float* rows, int64_t first, int64_t count) { stored_rows.read(first, count, rows); });
}

void fill(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored, const IsIgnored& is_ignored) {
  at::NoGradGuard no_grad;
  const TensorsByName found = by_name(stored);
  check_names(tensors, found, is_ignored);
  FilesByPath files;
  // All are looked at before any is copied: a folder that is refused changes nothing.
  for (const Parameter& parameter : tensors) {
    const StoredTensor& tensor = find_tensor(found, parameter.name, parameter.value.sizes());
    const MappedFile& file = files.try_emplace(tensor.path, tensor.path).first->second;
    if (needs_rows(tensor)) {
      StoredRows(tensor, file);
    } else {
      check_stored(tensor, file, parameter.value);
    }
  }
  for (const Parameter& parameter : tensors) {
    const StoredTensor& tensor = *found.at(parameter.name);
    at::Tensor value = parameter.value;
    copy_from(tensor, files.at(tensor.path), value);
  }
}

void write_tensor(NewFile& file, const Parameter& tensor, const std::string& path, const std::string& dtype) {
  const bool is_number = at::isFloatingType(tensor.value.scalar_type());
  const at::ScalarType written = is_number ? scalar_type(dtype, tensor.name) : tensor.value.scalar_type();
  const at::Tensor value = tensor.value.to(at::kCPU, written).contiguous();
  if (is_number) check_finite(value, path, tensor.name);
  file.write(value.const_data_ptr(), value.nbytes());
}

}  // namespace

TensorsByName by_name(const std::vector<StoredTensor>& stored) {
  TensorsByName tensors;
  for (const StoredTensor& tensor : stored) {
    require(tensors.emplace(tensor.name, &tensor).second, ErrorCode::kFormat, tensor.path, ": ", tensor.name,
            " stands in two files");
  }
  return tensors;
}

const StoredTensor& find_tensor(const TensorsByName& tensors, const std::string& name, at::IntArrayRef shape) {
  const auto found = tensors.find(name);
  require(found != tensors.end(), ErrorCode::kFormat, "weights: missing tensor ", name, " of shape ", shape);
  const StoredTensor& stored = *found->second;
  require(shape == at::IntArrayRef(stored.shape), ErrorCode::kFormat, stored.path, ": ", name, ": expected shape ",
          shape, ", got ", at::IntArrayRef(stored.shape));
  return stored;
}

std::shared_ptr<Decoder> load(const DecoderConfig& config, at::ScalarType dtype, at::Device device,
                              const std::vector<StoredTensor>& stored, Decoder::QuantOf quant_of) {
  const TensorsByName found = by_name(stored);
  auto decoder = std::make_shared<Decoder>(config, dtype, device, std::move(quant_of),
                                           [&](const std::string& name, at::IntArrayRef shape) {
                                             if (found.count(name + ".codes") == 0) find_tensor(found, name, shape);
                                           });
  read_weights(*decoder, stored);
  return decoder;
}

std::vector<Parameter> stored_parts(const QuantParameter& parameter) {
  std::vector<Parameter> parts;
  for (const auto& [name, value] : parameter.value.parts()) parts.push_back({parameter.name + "." + name, value});
  return parts;
}

void read_weights(Decoder& decoder, const std::vector<StoredTensor>& stored) {
  const TensorsByName found = by_name(stored);
  std::vector<Parameter> tensors = decoder.parameters();
  std::vector<std::pair<ops::QuantWeight, const StoredTensor*>> plain;
  for (const QuantParameter& parameter : decoder.quantised()) {
    if (found.count(parameter.name + ".codes") > 0) {
      for (Parameter& part : stored_parts(parameter)) tensors.push_back(std::move(part));
      continue;
    }
    const bool is_tied = parameter.name == "lm_head.weight" && decoder.config().tie_embeddings;
    const std::vector<int64_t> shape = {parameter.value.n(), parameter.value.k()};
    const std::string& name = is_tied ? decoder.parameters().front().name : parameter.name;
    plain.emplace_back(parameter.value, &find_tensor(found, name, shape));
  }
  const auto is_quantised = [&](const std::string& name) {
    return std::any_of(plain.begin(), plain.end(), [&](const auto& each) { return each.second->name == name; });
  };
  fill(tensors, stored,
       [&](const std::string& name) { return is_ignored(name, decoder.config()) || is_quantised(name); });
  for (auto& [weight, from] : plain) quantise_stored(weight, *from);
  check_tied_head(decoder, stored);
  decoder.weights_changed();
}

void read_tensors(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored) {
  fill(tensors, stored, [](const std::string&) { return false; });
}

void write_weights(const Decoder& decoder, const std::string& path, const std::string& header,
                   const std::vector<std::string>& names, const std::string& dtype) {
  std::unordered_map<std::string, at::Tensor> parts;
  for (const QuantParameter& parameter : decoder.quantised()) {
    for (const auto& [name, value] : stored_parts(parameter)) parts.emplace(name, value);
  }
  at::NoGradGuard no_grad;
  NewFile file(path);
  file.write(header.data(), header.size());
  for (const std::string& name : names) {
    const auto part = parts.find(name);
    if (part != parts.end()) {
      file.write(part->second.const_data_ptr(), part->second.nbytes());
      continue;
    }
    write_tensor(file, {name, decoder.parameter(name)}, path, dtype);
  }
  file.publish();
}

void write_tensors(const std::vector<Parameter>& tensors, const std::string& path, const std::string& header,
                   const std::string& dtype) {
  at::NoGradGuard no_grad;
  NewFile file(path);
  file.write(header.data(), header.size());
  for (const Parameter& tensor : tensors) write_tensor(file, tensor, path, dtype);
  file.publish();
}

std::shared_ptr<Decoder> clone(const Decoder& decoder) {
  at::NoGradGuard no_grad;
  auto copy = std::make_shared<Decoder>(decoder.config(), decoder.dtype(), decoder.device(), decoder.quant_of());
  copy->share_quantised(decoder);
  for (size_t i = 0; i < decoder.parameters().size(); ++i) {
    at::Tensor value = copy->parameters()[i].value;
    value.copy_(decoder.parameters()[i].value);
  }
  copy->weights_changed();
  return copy;
}

}  // namespace seekrl::model
