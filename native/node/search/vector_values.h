// What searches of vectors read from JavaScript.
#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "search/vectors/row_set.h"
#include "search/vectors/vector_index.h"

namespace seekrl::node {

// Copies f32 [rows, dim] after looking at its shape and its values.
std::vector<float> matrix(const Napi::Value& value, int64_t dim, const char* name);

// Bits of the rows that may be found, the first row in the lowest bit of the first byte; as the set of the others.
search::RowSet others_of(const Napi::Value& allowed, int64_t num_rows);

// The same vectors as `index` has, in a finer form; null where none are given.
std::shared_ptr<search::VectorIndex> finer_rows(const Napi::Value& handle, const search::VectorIndex& index);

// ERR_RANGE unless it is 1 to 65,536.
void check_over_fetch(int64_t over_fetch);

}  // namespace seekrl::node
