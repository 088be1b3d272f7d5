// What the files of both indexes say about their vectors.
#include "search/vector_index.h"

#include "base/error.h"

namespace seekrl::search {

BlobNumbers numbers_of(const VectorIndex& index) {
  const VectorFormat& format = index.format();
  return {index.count(), format.dim, static_cast<int64_t>(format.metric), static_cast<int64_t>(format.scalar)};
}

VectorFormat format_from(const BlobNumbers& numbers) {
  require(numbers[2] >= 0 && numbers[2] <= 1 && numbers[3] >= 0 && numbers[3] <= 2, ErrorCode::kFormat,
          "the index file names a metric or a dtype that is not known");
  const VectorFormat format = {numbers[1], static_cast<Metric>(numbers[2]), static_cast<Scalar>(numbers[3])};
  check_format(format);
  return format;
}

}  // namespace seekrl::search
