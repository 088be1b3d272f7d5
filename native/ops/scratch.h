// Memory that a thread keeps between calls.
#pragma once

#include <cstdint>
#include <memory>

namespace seekrl::ops {

// What is there at once in one thread has names of its own; a name is used by one element type at most once at a time.
enum class Scratch {
  kRounded,      // quantised activations, for the product that follows
  kBetween,      // the same between two products
  kTile,         // a product before it is rounded
  kPanel,        // a panel of one item
  kPanels,       // all panels of a factor
  kRows,         // rows of a factor, laid out anew
  kTurned,       // a product's tile, turned
  kWeight,       // rows of a weight, widened or as bf16
  kPart,         // one part of a sum
  kAbsmax,       // of a row's blocks
  kScores,       // of attention, and what else it needs
  kKeys,         // of a batch
  kValues,       // of a batch
  kProbability,  // of a vocabulary
  kLogits,       // of a vocabulary, edited
  kSums,         // of a vocabulary's blocks
  kKept,         // what is left of a vocabulary
};

// Room for `size` elements, valid until the same thread asks for more under the same name.
template <class Element, Scratch name>
Element* scratch(int64_t size) {
  thread_local std::unique_ptr<Element[]> memory;
  thread_local int64_t most = 0;
  if (size > most) {
    memory.reset();
    memory = std::make_unique_for_overwrite<Element[]>(static_cast<size_t>(size));
    most = size;
  }
  return memory.get();
}

}  // namespace seekrl::ops
