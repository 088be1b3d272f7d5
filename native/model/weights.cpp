// Weights are copied out of the mapped file, since training changes them.
#include "model/weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/new_file.h"
#include "model/gguf/quantise_stored.h"
#include "model/parallel/all_check.h"
#include "model/stored/finite.h"
#include "model/stored/stored_numbers.h"
#include "model/stored/stored_slice.h"
#include "model/stored/stored_weights.h"

namespace seekrl::model {

namespace {

// What Hugging Face ignores as well: buffers of old releases, and the head's copy in a tied model.
bool is_ignored(const std::string& name, const DecoderConfig& config) {
  if (name == "lm_head.weight") return config.tie_embeddings;
  return name.find(".rotary_emb.inv_freq") != std::string::npos;
}

// Where a tied model's head stands too: transformers unties one whose head differs, and loaded as the config says it
// would be another model.
CopiesByName copies_of(const Decoder& decoder) {
  if (!decoder.config().tie_embeddings) return {};
  return {{decoder.parameters().front().name, "lm_head.weight"}};
}

// Tensors that are fresh are nobody's yet: they are left half filled when one is refused, others as they were.
void fill(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored, const IsIgnored& is_ignored,
          bool is_fresh, const TensorParallel& parallel, const CopiesByName& copies = {}) {
  at::NoGradGuard no_grad;
  std::optional<StoredWeights> found;
  const auto check = [&] {
    found.emplace(tensors, stored, is_ignored, copies);
    if (is_fresh) return;
    for (const auto& [name, value] : tensors) found->check(name, value);
  };
  // Ranks load in their own time.
  is_fresh ? check() : all_check(parallel, check);
  for (const auto& [name, value] : tensors) found->read(name, value);
}

void write_tensor(NewFile& file, const Parameter& tensor, const std::string& path, const std::string& dtype) {
  const bool is_number = at::isFloatingType(tensor.value.scalar_type());
  const at::ScalarType written = is_number ? scalar_type(dtype, tensor.name) : tensor.value.scalar_type();
  const at::Tensor value = tensor.value.to(at::kCPU, written).contiguous();
  require(!is_number || first_not_finite(value, written) < 0, ErrorCode::kRange, path, ": ", tensor.name,
          ": expected finite numbers; nothing was written");
  file.write(value.const_data_ptr(), value.nbytes());
}

// What is quantised while it is read, and from where.
using QuantisedFrom = std::vector<std::pair<ops::QuantWeight, const StoredTensor*>>;

void check_quantised(const QuantisedFrom& plain) {
  for (const auto& [weight, from] : plain) {
    const MappedFile file(from->path);
    const at::Tensor value = at::empty({weight.n(), weight.k()}, at::device(at::kMeta).dtype(at::kFloat));
    check_place(*from, file, value);
    check_numbers(*from, file, value);
  }
}

// What this rank reads of the files.
std::vector<StoredTensor> own_slices(const Decoder& decoder, std::vector<StoredTensor> stored) {
  if (!decoder.parallel().is_split()) return stored;
  const TensorsByName found = by_name(stored);
  for (const QuantParameter& parameter : decoder.quantised()) {
    require(
        found.count(parameter.name + ".codes") == 0, ErrorCode::kFormat, "tensorParallel: ", parameter.name,
        ": expected plain weights, got quantised ones, which are not split; load the folder that they were made from "
        "with `weights`");
  }
  // A tied model's head is its embeddings, in slices as well.
  const bool is_tied = decoder.config().tie_embeddings;
  for (StoredTensor& tensor : stored) {
    const bool is_copy = is_tied && tensor.name == "lm_head.weight";
    tensor = stored_slice(tensor, decoder.slice_of(is_copy ? decoder.parameters().front().name : tensor.name));
  }
  return stored;
}

void read_into(Decoder& decoder, const std::vector<StoredTensor>& whole, bool is_fresh) {
  decoder.need_whole();
  const std::vector<StoredTensor> stored = own_slices(decoder, whole);
  const TensorsByName found = by_name(stored);
  std::vector<Parameter> tensors = decoder.parameters();
  QuantisedFrom plain;
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
  const auto is_left_out = [&](const std::string& name) {
    return is_ignored(name, decoder.config()) || is_quantised(name);
  };
  if (!is_fresh) all_check(decoder.parallel(), [&] { check_quantised(plain); });
  fill(tensors, stored, is_left_out, is_fresh, decoder.parallel(), copies_of(decoder));
  for (auto& [weight, from] : plain) quantise_stored(weight, *from);
  decoder.weights_changed();
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
                              const std::vector<StoredTensor>& stored, Decoder::QuantOf quant_of,
                              std::shared_ptr<comm::ProcessGroup> group, bool is_unread) {
  const TensorsByName found = by_name(stored);
  const auto expect = [&](const std::string& name, at::IntArrayRef shape) {
    if (found.count(name + ".codes") == 0) find_tensor(found, name, shape);
  };
  auto decoder =
      std::make_shared<Decoder>(config, dtype, device, std::move(quant_of), expect, std::move(group), is_unread);
  if (!is_unread) {
    read_into(*decoder, stored, true);
    return decoder;
  }
  TORCH_INTERNAL_ASSERT(decoder->quantised().empty() && !decoder->parallel().is_split());
  decoder->weights_changed();
  decoder->set_stored(std::make_shared<StoredWeights>(found_weights(*decoder, stored)));
  return decoder;
}

StoredWeights found_weights(const Decoder& decoder, const std::vector<StoredTensor>& stored) {
  const auto is_left_out = [&](const std::string& name) { return is_ignored(name, decoder.config()); };
  return {decoder.parameters(), stored, is_left_out, copies_of(decoder)};
}

std::vector<Parameter> stored_parts(const QuantParameter& parameter) {
  std::vector<Parameter> parts;
  for (const auto& [name, value] : parameter.value.parts()) parts.push_back({parameter.name + "." + name, value});
  return parts;
}

void read_weights(Decoder& decoder, const std::vector<StoredTensor>& stored) {
  decoder.parallel().together([&] { return CommandWriter(Task::kReadWeights).stored(stored).take(); },
                              [&] { read_into(decoder, stored, false); });
}

void read_tensors(const std::vector<Parameter>& tensors, const std::vector<StoredTensor>& stored, bool is_fresh,
                  const TensorParallel& parallel) {
  fill(tensors, stored, [](const std::string&) { return false; }, is_fresh, parallel);
}

at::Tensor whole_parameter(const Decoder& decoder, const std::string& name) {
  const auto command = [&] { return CommandWriter(Task::kParameter).text(name).take(); };
  static_cast<void>(decoder.own_parameter(name));  // refused before others are told
  const at::NoGradGuard no_grad;
  at::Tensor whole;
  decoder.parallel().together(command, [&] { whole = decoder.parameter(name); });
  return whole;
}

void write_weights(const Decoder& decoder, const std::string& path, const std::string& header,
                   const std::vector<std::string>& names, const std::string& dtype, const WeightOf& weight_of) {
  if (!weight_of) decoder.need_whole();
  require(!decoder.parallel().is_split() || decoder.quantised().empty(), ErrorCode::kArgument,
          "save: expected plain weights under tensor parallelism, got quantised ones; save the model of one process");
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
      const at::Tensor value = part->second.to(at::kCPU);
      file.write(value.const_data_ptr(), value.nbytes());
      continue;
    }
    write_tensor(file, {name, weight_of ? weight_of(name) : whole_parameter(decoder, name)}, path, dtype);
  }
  file.publish();
}

void write_tensors(const std::vector<Parameter>& tensors, const std::string& path, const std::string& header,
                   const std::string& dtype, const WholeOf& whole_of) {
  at::NoGradGuard no_grad;
  NewFile file(path);
  file.write(header.data(), header.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, value] = tensors[i];
    write_tensor(file, {name, whole_of ? whole_of(i) : value}, path, dtype);
  }
  file.publish();
}

namespace {

std::shared_ptr<Decoder> own_copy(const Decoder& decoder) {
  at::NoGradGuard no_grad;
  const bool is_unread = decoder.stored() != nullptr;
  auto copy = std::make_shared<Decoder>(decoder.config(), decoder.dtype(), decoder.device(), decoder.quant_of(),
                                        Decoder::Expect(), decoder.parallel().group(), is_unread);
  copy->parallel().follow_with(decoder.parallel());
  copy->share_quantised(decoder);
  for (size_t i = 0; !is_unread && i < decoder.parameters().size(); ++i) {
    at::Tensor value = copy->parameters()[i].value;
    value.copy_(decoder.parameters()[i].value);
  }
  copy->weights_changed();
  copy->set_stored(decoder.stored());
  return copy;
}

}  // namespace

std::shared_ptr<Decoder> clone(const Decoder& decoder) {
  if (decoder.stored() == nullptr) decoder.need_whole();
  std::shared_ptr<Decoder> copy = own_copy(decoder);
  decoder.parallel().together([&] { return CommandWriter(Task::kCopy).number(copy->parallel().number()).take(); },
                              [] {});
  copy->parallel().end_with(copy, CommandWriter(Task::kEndCopy).take());
  return copy;
}

}  // namespace seekrl::model
