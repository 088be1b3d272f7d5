// Which rows of a packed batch go through which adapter.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "model/adapters/adapter.h"

namespace seekrl::model {

class AdapterRows {
 public:
  AdapterRows() = default;  // none
  // All rows, however many; null for none.
  explicit AdapterRows(std::shared_ptr<const Adapter> adapter);

  // The next `num_rows` rows; null for none.
  void add(std::shared_ptr<const Adapter> adapter, int64_t num_rows);

  bool is_empty() const { return runs_.empty(); }

  // What a batch of those rows alone (i64 [R]) goes through; undefined means all of them.
  AdapterRows select(const at::Tensor& rows_R) const;

  // Adds to y_MN, the product of the decoder's projection of that place with x_MK, what the rows' adapters add. A row's
  // bits depend on that row and its adapter alone. With gradients all rows must have one adapter.
  at::Tensor add_to(at::Tensor y_MN, const at::Tensor& x_MK, int64_t projection) const;

 private:
  // Rows [begin, end); those of no run have no adapter.
  struct Run {
    int64_t begin, end;
    std::shared_ptr<const Adapter> adapter;
  };

  std::vector<Run> runs_;
  int64_t num_rows_ = 0;
};

}  // namespace seekrl::model
