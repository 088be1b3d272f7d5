// Tensors on disk in pieces, as so many ranks wrote them, for as many others to read.
#pragma once

#include <string>
#include <vector>

#include "model/parameter.h"
#include "model/weights.h"

namespace seekrl::train {

// "[first:end]" behind the name of a parameter of which but these elements are meant.
std::string range_suffix(int64_t first, int64_t end);

// Parts of tensors, and where on disk each of them stands, under one name.
struct StoredParts {
  std::vector<model::Parameter> tensors;
  std::vector<model::StoredTensor> stored;
};

// Finds all numbers of the tensors, each in as many pieces as there are. ERR_FORMAT where some are missing or stand
// twice, or where something is stored that is no piece of `known`, names without ranges.
StoredParts find_parts(const std::vector<model::Parameter>& tensors, const std::vector<model::StoredTensor>& stored,
                       const std::vector<std::string>& known);

}  // namespace seekrl::train
