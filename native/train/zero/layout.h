// How the numbers of a learner's parameters are laid out flat, and which of them each rank keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "model/parameter.h"

namespace seekrl::train {

// Parameters that are gathered and reduced together: a layer, or all that stands in no layer. Flat, they take
// num_ranks * part numbers, of which rank r keeps [r * part, (r + 1) * part).
struct Unit {
  int64_t layer = -1;  // -1 for what stands in none
  std::vector<size_t> parameters;
  int64_t begin = 0;  // in the arena of all units
  int64_t part = 0;   // a multiple of kernels::kMomentBlock
};

// What a rank keeps of a parameter: elements [first, first + count), from `place` on in the arena. `first` is a
// multiple of kernels::kMomentBlock, so that 8-bit moments and random rounding have the bits that they have uncut.
struct Piece {
  size_t parameter = 0;
  int64_t first = 0, count = 0;
  int64_t place = 0;
};

// The flat arena in which every parameter begins at a multiple of kernels::kMomentBlock; what lies between is zero.
class Layout {
 public:
  // Unit 0 is what stands in no layer, then come the layers in their order.
  Layout(const std::vector<model::Parameter>& parameters, int num_ranks);

  int num_ranks() const { return num_ranks_; }
  int64_t size() const { return size_; }
  const std::vector<Unit>& units() const { return units_; }
  // Up to the last of which something is trained.
  int64_t num_layers() const { return units_.back().layer + 1; }
  // Null where nothing of the layer is trained.
  const Unit* unit_of(int64_t layer) const;
  int64_t place(size_t parameter) const { return places_[parameter]; }
  // Blocks of all parameters before it in their list, however they are laid out.
  int64_t first_block(size_t parameter) const { return first_blocks_[parameter]; }

  // Of one rank, in the order of their places.
  std::vector<Piece> pieces(int rank) const;
  std::vector<Piece> pieces(const Unit& unit, int rank) const;

 private:
  int num_ranks_;
  std::vector<int64_t> counts_, places_, first_blocks_;  // by parameter
  std::vector<Unit> units_;
  int64_t size_ = 0;
};

}  // namespace seekrl::train
