// Units by the names of their parameters.
#include "train/zero/layout.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "kernels/adamw.h"

namespace seekrl::train {

namespace {

int64_t num_blocks(int64_t size) { return (size + kernels::kMomentBlock - 1) / kernels::kMomentBlock; }

// The layer of "model.layers.3.mlp.up_proj.weight", or -1.
int64_t layer_of(const std::string& name) {
  static constexpr char kLayers[] = ".layers.";
  const size_t at = name.find(kLayers);
  return at == std::string::npos ? -1 : std::atoll(name.c_str() + at + sizeof(kLayers) - 1);
}

}  // namespace

Layout::Layout(const std::vector<model::Parameter>& parameters, int num_ranks)
    : num_ranks_(num_ranks), places_(parameters.size()) {
  std::map<int64_t, std::vector<size_t>> by_layer;
  by_layer[-1];
  int64_t block = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    by_layer[layer_of(parameters[i].name)].push_back(i);
    counts_.push_back(parameters[i].value.numel());
    first_blocks_.push_back(block);
    block += num_blocks(counts_.back());
  }
  for (auto& [layer, members] : by_layer) {
    Unit unit = {layer, std::move(members), size_, 0};
    int64_t place = size_;
    for (const size_t parameter : unit.parameters) {
      places_[parameter] = place;
      place += num_blocks(counts_[parameter]) * kernels::kMomentBlock;
    }
    unit.part = num_blocks((place - size_ + num_ranks - 1) / num_ranks) * kernels::kMomentBlock;
    size_ += unit.part * num_ranks;
    units_.push_back(std::move(unit));
  }
}

const Unit* Layout::unit_of(int64_t layer) const {
  if (layer < 0) return nullptr;
  const auto found = std::find_if(units_.begin(), units_.end(), [&](const Unit& unit) { return unit.layer == layer; });
  return found == units_.end() ? nullptr : &*found;
}

std::vector<Piece> Layout::pieces(const Unit& unit, int rank) const {
  std::vector<Piece> pieces;
  const int64_t begin = unit.begin + rank * unit.part, end = begin + unit.part;
  for (const size_t parameter : unit.parameters) {
    const int64_t from = std::max(begin, places_[parameter]);
    const int64_t to = std::min(end, places_[parameter] + counts_[parameter]);
    if (from < to) pieces.push_back({parameter, from - places_[parameter], to - from, from});
  }
  return pieces;
}

std::vector<Piece> Layout::pieces(int rank) const {
  std::vector<Piece> all;
  for (const Unit& unit : units_) {
    const std::vector<Piece> own = pieces(unit, rank);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace seekrl::train
