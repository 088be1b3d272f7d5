// Neighbours of one adapter are one product.
#include "model/adapters/adapter_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "ops/products/low_rank.h"

namespace seekrl::model {

namespace {

constexpr int64_t kAllRows = std::numeric_limits<int64_t>::max();

}  // namespace

AdapterRows::AdapterRows(std::shared_ptr<const Adapter> adapter) { add(std::move(adapter), kAllRows); }

void AdapterRows::add(std::shared_ptr<const Adapter> adapter, int64_t num_rows) {
  const int64_t begin = std::exchange(num_rows_, num_rows_ + num_rows);
  if (adapter == nullptr) return;
  if (!runs_.empty() && runs_.back().end == begin && runs_.back().adapter == adapter) {
    runs_.back().end = num_rows_;
  } else {
    runs_.push_back({begin, num_rows_, std::move(adapter)});
  }
}

AdapterRows AdapterRows::select(const at::Tensor& rows_R) const {
  const bool is_uniform = runs_.empty() || (runs_.front().begin == 0 && runs_.front().end == num_rows_);
  if (!rows_R.defined() || (is_uniform && num_rows_ == kAllRows)) return *this;
  const at::Tensor rows = rows_R.to(at::kCPU).contiguous();
  const int64_t* values = rows.const_data_ptr<int64_t>();
  AdapterRows selected;
  for (int64_t i = 0; i < rows.numel(); ++i) {
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), values[i],
                                        [](int64_t row, const Run& run) { return row < run.end; });
    const bool is_inside = after != runs_.end() && after->begin <= values[i];
    selected.add(is_inside ? after->adapter : nullptr, 1);
  }
  return selected;
}

at::Tensor AdapterRows::add_to(at::Tensor y_MN, const at::Tensor& x_MK, int64_t projection) const {
  const int64_t num_rows = y_MN.size(0);
  for (const auto& [begin, end, adapter] : runs_) {
    const Adapter::LowRank* pair = adapter->at(projection);
    if (pair == nullptr) continue;
    const int64_t count = std::min(end, num_rows) - begin;
    if (count == num_rows) {
      y_MN = ops::add_low_rank(y_MN, x_MK, pair->down_RK, pair->up_NR, adapter->scale());
    } else {
      TORCH_INTERNAL_ASSERT(!at::GradMode::is_enabled());
      ops::add_low_rank(y_MN.narrow(0, begin, count), x_MK.narrow(0, begin, count), pair->down_RK, pair->up_NR,
                        adapter->scale());
    }
  }
  return y_MN;
}

}  // namespace seekrl::model
