// Shapes, values and partners are checked before a search is posted.
#include "node/search/vector_values.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "node/search/search_work.h"
#include "node/values.h"

namespace seekrl::node {

std::vector<float> matrix(const Napi::Value& value, int64_t dim, const char* name) {
  std::vector<float> values = to_floats(value, name);
  require(static_cast<int64_t>(values.size()) % dim == 0, ErrorCode::kShape, name, ": expected f32 [N, ", dim,
          "], got ", values.size(), " values");
  bool is_finite = true;
  for (const float each : values) is_finite &= std::fabs(each) <= std::numeric_limits<float>::max();
  require(is_finite, ErrorCode::kRange, name, ": expected finite values");
  return values;
}

search::RowSet others_of(const Napi::Value& allowed, int64_t num_rows) {
  const std::string bits = to_bytes(allowed, "allowed");
  require(static_cast<int64_t>(bits.size()) == (num_rows + 7) / 8, ErrorCode::kShape, "allowed: expected ",
          (num_rows + 7) / 8, " bytes, got ", bits.size());
  search::RowSet others(num_rows);
  others.assign(bits.data(), true);
  return others;
}

std::shared_ptr<search::VectorIndex> finer_rows(const Napi::Value& handle, const search::VectorIndex& index) {
  if (handle.IsUndefined()) return nullptr;
  auto rescore = held<search::VectorIndex>(handle);
  require(rescore->format().dim == index.format().dim && rescore->count() == index.count(), ErrorCode::kArgument,
          "rescore: expected ", index.count(), " vectors of width ", index.format().dim, ", got ", rescore->count(),
          " of width ", rescore->format().dim);
  return rescore;
}

void check_over_fetch(int64_t over_fetch) {
  require(over_fetch >= 1 && over_fetch <= 1 << 16, ErrorCode::kRange, "overFetch: expected 1 to 65536, got ",
          over_fetch);
}

}  // namespace seekrl::node
