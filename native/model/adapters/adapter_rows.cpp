// Neighbours of one adapter are one product on the CPU; on a GPU all rows are one call.
#include "model/adapters/adapter_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cuda/product/low_rank.h"
#include "ops/gpu/products/low_rank.h"
#include "ops/gpu/transfer.h"
#include "ops/kernel_path.h"
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

void AdapterRows::know(const at::Tensor& rows_R, std::vector<int64_t> values) {
  known_ = std::make_shared<const KnownRows>(KnownRows{rows_R, std::move(values)});
}

std::vector<int64_t> AdapterRows::values_of(const at::Tensor& rows_R) const {
  if (known_ != nullptr && known_->rows_R.is_same(rows_R)) return known_->values;
  const at::Tensor rows = rows_R.to(at::kCPU).contiguous();
  const int64_t* const values = rows.const_data_ptr<int64_t>();
  return {values, values + rows.numel()};
}

AdapterRows AdapterRows::select(const at::Tensor& rows_R) const {
  const bool is_uniform = runs_.empty() || (runs_.front().begin == 0 && runs_.front().end == num_rows_);
  if (!rows_R.defined() || is_uniform) return *this;
  AdapterRows selected;
  for (const int64_t row : values_of(rows_R)) {
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                        [](int64_t asked, const Run& run) { return asked < run.end; });
    const bool is_inside = after != runs_.end() && after->begin <= row;
    selected.add(is_inside ? after->adapter : nullptr, 1);
  }
  if (tables_ == nullptr) return selected;
  return selected.on(tables_->runs.device(), tables_->dtype, selected.num_rows_);
}

std::vector<const Adapter*> AdapterRows::adapters() const {
  std::vector<const Adapter*> each;
  for (const Run& run : runs_) {
    if (std::find(each.begin(), each.end(), run.adapter.get()) == each.end()) each.push_back(run.adapter.get());
  }
  return each;
}

void AdapterRows::refresh() const {
  if (tables_ == nullptr) return;
  for (const Adapter* adapter : adapters()) adapter->on_gpu(tables_->dtype);
}

AdapterRows AdapterRows::on(at::Device device, at::ScalarType dtype, int64_t num_rows) const {
  if (device.is_cpu() || runs_.empty()) return *this;
  refresh();
  if (tables_ != nullptr) return *this;
  const std::vector<const Adapter*> all = adapters();
  auto tables = std::make_shared<Tables>();
  tables->dtype = dtype;
  tables->pairs_PA = pairs_on(device, all, dtype);
  tables->max_rank = 0;
  for (const Adapter* adapter : all) {
    tables->max_rank = std::max(tables->max_rank, (adapter->options().rank + 7) / 8 * 8);
  }
  set_runs(*tables, device, all, num_rows);
  AdapterRows rows = *this;
  rows.tables_ = std::move(tables);
  return rows;
}

at::Tensor AdapterRows::pairs_on(at::Device device, const std::vector<const Adapter*>& adapters,
                                 at::ScalarType dtype) const {
  const auto num_projections = static_cast<size_t>(adapters.front()->num_projections());
  std::vector<cuda::LowRankPair> pairs(num_projections * adapters.size());
  for (size_t a = 0; a < adapters.size(); ++a) {
    const std::vector<ops::GpuPair>& from = adapters[a]->on_gpu(dtype);
    for (size_t p = 0; p < num_projections; ++p) {
      cuda::LowRankPair& to = pairs[p * adapters.size() + a];
      to = {};
      if (!from[p].down_RK.defined()) continue;
      to = {from[p].down_RK.const_data_ptr(), from[p].up_NR.const_data_ptr(), from[p].down_RK.size(0),
            static_cast<float>(from[p].scale)};
    }
  }
  static_assert(sizeof(cuda::LowRankPair) % 16 == 0);
  ops::StagedLists lists;
  lists.add(pairs);
  return lists.copy_to_gpu(device).view({adapters.front()->num_projections(), -1});
}

// Rows between runs are a run of no adapter. One for all rows has no end, so that it serves any number of them.
void AdapterRows::set_runs(Tables& tables, at::Device device, const std::vector<const Adapter*>& adapters,
                           int64_t num_rows) const {
  std::vector<int32_t> starts, chosen;
  int64_t last = 0;
  for (const auto& [begin, end, adapter] : runs_) {
    if (begin > last) {
      starts.push_back(static_cast<int32_t>(last));
      chosen.push_back(-1);
    }
    starts.push_back(static_cast<int32_t>(begin));
    const auto place = std::find(adapters.begin(), adapters.end(), adapter.get()) - adapters.begin();
    chosen.push_back(static_cast<int32_t>(place));
    const bool is_all = begin == 0 && end >= num_rows;
    last = is_all ? std::numeric_limits<int32_t>::max() : end;
  }
  starts.push_back(static_cast<int32_t>(last));
  const int64_t num_runs = std::ssize(chosen);
  starts.insert(starts.end(), chosen.begin(), chosen.end());
  tables.runs = ops::copy_to_gpu(starts, device);
  tables.start_G = tables.runs.narrow(0, 0, num_runs + 1);
  tables.adapter_G = tables.runs.narrow(0, num_runs + 1, num_runs);
}

// Rows of several adapters are generated, not trained.
at::Tensor AdapterRows::add_on_gpu(const at::Tensor& y_MN, const at::Tensor& x_MK, int64_t projection) const {
  const bool is_target =
      std::any_of(runs_.begin(), runs_.end(), [&](const Run& run) { return run.adapter->at(projection) != nullptr; });
  if (!is_target || y_MN.size(0) == 0) return y_MN;
  const ops::GpuLowRank all = {tables_->pairs_PA.select(0, projection), tables_->max_rank, tables_->start_G,
                               tables_->adapter_G};
  const Adapter& first = *runs_.front().adapter;
  const Adapter::LowRank* const pair = first.at(projection);
  if (pair == nullptr || !ops::needs_grad(y_MN, x_MK, pair->down_RK, pair->up_NR)) {
    TORCH_INTERNAL_ASSERT(!ops::needs_grad(y_MN, x_MK));
    ops::gpu_add_low_rank(y_MN, x_MK, all);
    return y_MN;
  }
  TORCH_INTERNAL_ASSERT(runs_.size() == 1 && runs_.front().begin == 0);
  const ops::GpuPair& rounded = first.on_gpu(tables_->dtype)[static_cast<size_t>(projection)];
  const auto [down_RK, up_NR] = first.entered(projection);
  return ops::gpu_add_low_rank(y_MN, x_MK, all, rounded, down_RK, up_NR);
}

at::Tensor AdapterRows::add_to(at::Tensor y_MN, const at::Tensor& x_MK, int64_t projection) const {
  if (tables_ != nullptr) return add_on_gpu(y_MN, x_MK, projection);
  const int64_t num_rows = y_MN.size(0);
  for (const auto& [begin, end, adapter] : runs_) {
    if (adapter->at(projection) == nullptr) continue;
    const auto [down_RK, up_NR] = adapter->entered(projection);
    const int64_t count = std::min(end, num_rows) - begin;
    if (count == num_rows) {
      y_MN = ops::add_low_rank(y_MN, x_MK, down_RK, up_NR, adapter->scale());
    } else {
      TORCH_INTERNAL_ASSERT(!at::GradMode::is_enabled());
      ops::add_low_rank(y_MN.narrow(0, begin, count), x_MK.narrow(0, begin, count), down_RK, up_NR, adapter->scale());
    }
  }
  return y_MN;
}

}  // namespace seekrl::model
