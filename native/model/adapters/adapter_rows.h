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

  // The same rows, in a batch of `num_rows`, with what a GPU's kernels are told of them; itself on the CPU and where
  // it has that already. Once a batch: where the tables lie, and the launches that read them, stay as they are while
  // the rows are equal.
  AdapterRows on(at::Device device, at::ScalarType dtype, int64_t num_rows) const;
  // Those of its adapters that have changed since are rounded again, where the tables say they lie.
  void refresh() const;
  // Whether rows and adapters are the same.
  bool operator==(const AdapterRows& other) const { return runs_ == other.runs_ && num_rows_ == other.num_rows_; }

  // What a batch of those rows alone (i64 [R]) goes through; undefined means all of them. Those of a GPU are read back,
  // unless they are known.
  AdapterRows select(const at::Tensor& rows_R) const;
  // That a tensor of rows holds these.
  void know(const at::Tensor& rows_R, std::vector<int64_t> values);

  // Adds to y_MN, the product of the decoder's projection of that place with x_MK, what the rows' adapters add. A row's
  // bits depend on that row and its adapter alone. With gradients all rows must have one adapter.
  at::Tensor add_to(at::Tensor y_MN, const at::Tensor& x_MK, int64_t projection) const;

 private:
  // Rows [begin, end); those of no run have no adapter.
  struct Run {
    int64_t begin, end;
    std::shared_ptr<const Adapter> adapter;

    bool operator==(const Run& other) const = default;
  };

  // On the GPU.
  struct Tables {
    at::ScalarType dtype;
    at::Tensor pairs_PA;  // cuda::LowRankPair by projection and adapter, as bytes
    int64_t max_rank;
    at::Tensor runs;  // i32: where runs of the kernel begin and the last one ends, then their adapters
    at::Tensor start_G, adapter_G;
  };

  at::Tensor pairs_on(at::Device device, const std::vector<const Adapter*>& adapters, at::ScalarType dtype) const;
  void set_runs(Tables& tables, at::Device device, const std::vector<const Adapter*>& adapters, int64_t num_rows) const;
  std::vector<const Adapter*> adapters() const;
  at::Tensor add_on_gpu(const at::Tensor& y_MN, const at::Tensor& x_MK, int64_t projection) const;

  struct KnownRows {
    at::Tensor rows_R;
    std::vector<int64_t> values;
  };
  std::vector<int64_t> values_of(const at::Tensor& rows_R) const;

  std::vector<Run> runs_;
  int64_t num_rows_ = 0;
  std::shared_ptr<const KnownRows> known_;  // null for none
  std::shared_ptr<const Tables> tables_;    // null before on()
};

}  // namespace seekrl::model
