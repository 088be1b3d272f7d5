// AdamW's state on disk: named by parameters, and read from however many files.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "model/parallel/all_check.h"
#include "model/stored/stored_numbers.h"
#include "model/stored/stored_slice.h"
#include "train/adamw.h"
#include "train/largest_gradient.h"
#include "train/zero/returned_memory.h"
#include "train/zero/stored_pieces.h"

namespace seekrl::train {

namespace {

using Tensors = std::vector<model::Parameter>;

void add_moment(Tensors& state, const std::string& kind, const std::string& name, const ops::Moment& moment) {
  const bool has_codes = moment.scales.defined();
  const std::string prefix = "adamw." + kind + (has_codes ? "8." : ".") + name;
  state.push_back({prefix, moment.values});
  if (has_codes) state.push_back({prefix + ".scale", moment.scales});
}

void add_state(Tensors& state, const std::string& name, const ops::TrainedParameter& trained) {
  add_moment(state, "m", name, trained.first);
  add_moment(state, trained.second.scales.defined() ? "root" : "v", name, trained.second);
  if (trained.low.defined()) state.push_back({"adamw.low." + name, trained.low});
}

// Moments, and the scales of their codes.
void check_ranges(const StoredParts& parts) {
  constexpr auto kMean = static_cast<float>(kMostGradient);  // that of gradients is no larger than they are
  for (size_t i = 0; i < parts.tensors.size(); ++i) {
    const auto& [name, value] = parts.tensors[i];
    const bool is_mean = name.starts_with("adamw.m."), is_square = name.starts_with("adamw.v.");
    const bool is_scale = name.starts_with("adamw.m8.") || name.starts_with("adamw.root8.");
    if (value.scalar_type() != at::kFloat || (!is_mean && !is_square && !is_scale)) continue;
    const MappedFile file(parts.stored[i].path);
    model::check_place(parts.stored[i], file, value);
    model::check_between(parts.stored[i], file, value, is_mean ? -kMean : 0, is_square ? kMean * kMean : kMean);
  }
}

}  // namespace

std::vector<model::Parameter> AdamW::state() const {
  Tensors state;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const auto& [parameter, first, count, place] = pieces_[i];
    const auto& [name, value] = parameters_[parameter];
    add_state(state, count == value.numel() ? name : name + range_suffix(first, first + count), trained_[i]);
  }
  return state;
}

// Under tensor parallelism, where a parameter is one piece.
std::vector<model::Slice> AdamW::state_slices() const {
  std::vector<model::Slice> slices;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    Tensors own;
    add_state(own, "", trained_[i]);
    slices.insert(slices.end(), own.size(), slices_[pieces_[i].parameter]);
  }
  return slices;
}

// What this rank reads of a state that stands whole on the disk.
std::vector<model::StoredTensor> AdamW::own_slices(std::vector<model::StoredTensor> stored) const {
  if (!parallel_.is_split()) return stored;
  const Tensors own = state();
  const std::vector<model::Slice> slices = state_slices();
  std::unordered_map<std::string, model::Slice> by_name;
  for (size_t i = 0; i < own.size(); ++i) by_name.emplace(own[i].name, slices[i]);
  for (model::StoredTensor& tensor : stored) {
    require(!tensor.name.ends_with(']'), ErrorCode::kFormat, tensor.path,
            ": expected the state of one process or of tensor parallelism, got a part of one that ranks share out "
            "(ZeRO); resume it with `zero`, or in one process");
    const auto found = by_name.find(tensor.name);
    if (found != by_name.end()) tensor = model::stored_slice(tensor, found->second);
  }
  return stored;
}

// Those that any rank may have written.
std::vector<std::string> AdamW::known_names(const Tensors& others) const {
  std::vector<std::string> known;
  for (const auto& [name, value] : others) known.push_back(name);
  for (const auto& [name, value] : parameters_) {
    const bool has_low = options_.has_master && value.scalar_type() != at::kFloat;
    if (has_low) known.push_back("adamw.low." + name);
    if (!options_.has_8_bit_moments) {
      known.insert(known.end(), {"adamw.m." + name, "adamw.v." + name});
      continue;
    }
    for (const std::string& prefix : {"adamw.m8." + name, "adamw.root8." + name}) {
      known.insert(known.end(), {prefix, prefix + ".scale"});
    }
  }
  return known;
}

// What this rank has of other tensors that are trained too.
Tensors AdamW::own_of(const Tensors& others) const {
  if (!weights_->are_parted()) return others;
  Tensors own;
  for (const Piece& piece : pieces_) {
    const std::string& name = parameters_[piece.parameter].name;
    const auto is_same = [&](const model::Parameter& each) { return each.name == name; };
    if (std::none_of(others.begin(), others.end(), is_same)) continue;
    own.push_back({name + range_suffix(piece.first, piece.first + piece.count), weights_->own(piece)});
  }
  return own;
}

Tensors AdamW::written_of(const Tensors& others) const {
  const bool is_writer = weights_->are_parted() || layout_.num_ranks() == 1 || rank() == 0;
  return is_writer ? own_of(others) : Tensors();
}

void AdamW::write_weights(const model::Decoder& decoder, const std::string& path, const std::string& header,
                          const std::vector<std::string>& names, const std::string& dtype) {
  if (!weights_->are_parted()) {
    if (!path.empty()) model::write_weights(decoder, path, header, names, dtype);
    return;
  }
  const at::NoGradGuard no_grad;
  const ReturnedMemory returned;
  weights_->begin_update();
  const Unit* open = nullptr;
  const model::WeightOf brought = [&](const std::string& name) {
    const Unit* const unit = unit_with(name);
    if (unit != nullptr && unit != open) {
      if (open != nullptr) weights_->release(*open);
      weights_->need(*unit);
      group()->finish("weights");
      open = unit;
    }
    const std::vector<model::Parameter>& all = decoder.parameters();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    TORCH_INTERNAL_ASSERT(found != all.end());
    return found->value;
  };
  if (path.empty()) {
    for (const std::string& name : names) brought(name);
  } else {
    model::write_weights(decoder, path, header, names, dtype, brought);
  }
  if (open != nullptr) weights_->release(*open);
}

// Null for what is not trained.
const Unit* AdamW::unit_with(const std::string& name) const {
  for (const Unit& unit : layout_.units()) {
    for (const size_t parameter : unit.parameters) {
      if (parameters_[parameter].name == name) return &unit;
    }
  }
  return nullptr;
}

void AdamW::read_pieces(const model::StoredWeights& stored) {
  for (const Piece& piece : pieces_) {
    const std::string& name = parameters_[piece.parameter].name;
    if (stored.has(name)) stored.read(name, weights_->own(piece), piece.first);
  }
}

void AdamW::read_weights(model::Decoder& decoder, const std::vector<model::StoredTensor>& stored) {
  if (!weights_->are_parted()) return model::read_weights(decoder, stored);
  const at::NoGradGuard no_grad;
  const model::StoredWeights found = model::found_weights(decoder, stored);
  const auto each = [&](const auto& visit) {
    for (const Piece& piece : pieces_) {
      const std::string& name = parameters_[piece.parameter].name;
      if (found.has(name)) visit(name, weights_->own(piece), piece.first);
    }
    // What is not trained is on every rank.
    for (const auto& [name, value] : decoder.parameters()) {
      if (!value.requires_grad()) visit(name, value, 0);
    }
  };
  weights_->begin_update();
  each([&](const std::string& name, const at::Tensor& value, int64_t first) { found.check(name, value, first); });
  each([&](const std::string& name, const at::Tensor& value, int64_t first) { found.read(name, value, first); });
  decoder.weights_changed();
}

void AdamW::read_state(const std::vector<model::Parameter>& others, const std::vector<model::StoredTensor>& stored,
                       int64_t num_steps) {
  Tensors wanted = state();
  const Tensors own_others = own_of(others);
  wanted.insert(wanted.end(), own_others.begin(), own_others.end());
  StoredParts parts;
  model::all_check(parallel_, [&] {
    parts = find_parts(wanted, own_slices(stored), known_names(others));
    check_ranges(parts);
  });
  model::read_tensors(parts.tensors, parts.stored, false, parallel_);
  num_steps_ = num_steps;
}

}  // namespace seekrl::train
