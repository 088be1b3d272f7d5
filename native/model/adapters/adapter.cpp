// Where an adapter's numbers come from, and which projection they belong to.
#include "model/adapters/adapter.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace seekrl::model {

namespace {

// As PEFT understands it: the name, or what stands behind one of its dots.
bool is_named(const std::string& projection, const std::string& target) {
  if (target == "all-linear" || projection == target) return true;
  const std::string end = "." + target;
  return projection.size() > end.size() && projection.compare(projection.size() - end.size(), end.size(), end) == 0;
}

bool is_target(const std::vector<std::string>& targets, const std::string& projection) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const std::string& target) { return is_named(projection, target); });
}

void check(const std::vector<ProjectionShape>& projections, const AdapterOptions& options) {
  require(options.rank >= 1, ErrorCode::kArgument, "adapter: rank: expected at least 1, got ", options.rank);
  require(!options.targets.empty(), ErrorCode::kArgument, "adapter: targets: expected at least one");
  for (const std::string& target : options.targets) {
    const bool exists = std::any_of(projections.begin(), projections.end(), [&](const ProjectionShape& projection) {
      return is_named(projection.name, target);
    });
    require(exists, ErrorCode::kArgument, "adapter: targets: the model has no projection called ", target);
  }
  int64_t widest = 0;
  for (const auto& [name, rows, columns, slice] : projections) {
    if (is_target(options.targets, name)) widest = std::max({widest, rows, columns});
  }
  // No product of two matrices has a rank above their outer sizes.
  require(options.rank <= widest, ErrorCode::kRange, "adapter: rank: expected at most ", widest,
          ", the width of the widest projection, got ", options.rank);
}

// kaiming_uniform_ with a = sqrt(5), which is torch's and PEFT's way: uniform in +-1/sqrt(K).
at::Tensor drawn_RK(int64_t rank, int64_t columns, uint64_t seed, uint64_t stream) {
  at::Tensor drawn = at::empty({rank, columns}, at::kFloat);
  float* values = drawn.mutable_data_ptr<float>();
  const double bound = 1.0 / std::sqrt(static_cast<double>(columns));
  for (int64_t i = 0; i < drawn.numel(); ++i) {
    values[i] = static_cast<float>(bound * (2.0 * uniform(seed, stream, static_cast<uint64_t>(i)) - 1.0));
  }
  return drawn;
}

bool has_rows(const Slice& slice) { return !slice.is_all() && slice.dim == 0; }
bool has_columns(const Slice& slice) { return !slice.is_all() && slice.dim == 1; }

int64_t next_id() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

}  // namespace

Adapter::Adapter(const std::vector<ProjectionShape>& projections, AdapterOptions options, at::Device device,
                 uint64_t seed, TensorParallel parallel)
    : options_(std::move(options)), id_(next_id()), parallel_(std::move(parallel)), pairs_(projections.size()) {
  check(projections, options_);
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < projections.size(); ++i) {
    const auto& [name, rows, columns, slice] = projections[i];
    projection_slices_.push_back(slice);
    if (!is_target(options_.targets, name)) continue;
    at::Tensor down_RK = drawn_RK(options_.rank, columns, seed, i);
    if (has_columns(slice)) down_RK = down_RK.narrow(1, slice.first, slice.count).contiguous();
    const int64_t own_rows = has_rows(slice) ? slice.count : rows;
    pairs_[i] = {down_RK.to(device), at::zeros({own_rows, options_.rank}, at::TensorOptions(device).dtype(at::kFloat))};
    const std::string prefix = "base_model.model." + name;
    parameters_.push_back({prefix + ".lora_A.weight", pairs_[i].down_RK});
    parameters_.push_back({prefix + ".lora_B.weight", pairs_[i].up_NR});
    if (has_columns(slice)) slices_.emplace(prefix + ".lora_A.weight", slice);
    if (has_rows(slice)) slices_.emplace(prefix + ".lora_B.weight", slice);
  }
}

Slice Adapter::slice_of(const std::string& name) const {
  const auto found = slices_.find(name);
  return found == slices_.end() ? Slice() : found->second;
}

Adapter::LowRank Adapter::entered(int64_t projection) const {
  const auto place = static_cast<size_t>(projection);
  LowRank pair = pairs_.at(place);
  if (has_rows(projection_slices_[place])) pair.down_RK = parallel_.shared(pair.down_RK);
  if (has_columns(projection_slices_[place])) pair.up_NR = parallel_.shared(pair.up_NR);
  return pair;
}

const at::Tensor& Adapter::parameter(const std::string& name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter.value;
  }
  fail(ErrorCode::kArgument, "parameter: no tensor of the adapter is called ", name);
}

const Adapter::LowRank* Adapter::at(int64_t projection) const {
  const LowRank& pair = pairs_.at(static_cast<size_t>(projection));
  return pair.down_RK.defined() ? &pair : nullptr;
}

double Adapter::scale() const {
  const auto rank = static_cast<double>(options_.rank);
  return options_.alpha / (options_.is_rank_stabilised ? std::sqrt(rank) : rank);
}

const std::vector<ops::GpuPair>& Adapter::on_gpu(at::ScalarType dtype) const {
  if (gpu_version_ == version_) return gpu_pairs_;
  at::NoGradGuard no_grad;
  const int64_t rank = options_.rank, filled = (rank + 7) / 8 * 8;
  const bool is_first = gpu_pairs_.empty();
  gpu_pairs_.resize(pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const auto& [down_RK, up_NR] = pairs_[i];
    if (!down_RK.defined()) continue;
    ops::GpuPair& to = gpu_pairs_[i];
    if (is_first) {
      const at::TensorOptions options = down_RK.options().dtype(dtype);
      to = {at::zeros({filled, down_RK.size(1)}, options), at::zeros({up_NR.size(0), filled}, options), scale()};
    }
    to.down_RK.narrow(0, 0, rank).copy_(down_RK);
    to.up_NR.narrow(1, 0, rank).copy_(up_NR);
  }
  gpu_version_ = version_;
  return gpu_pairs_;
}

std::shared_ptr<Adapter> clone(const Adapter& adapter, const std::vector<ProjectionShape>& projections) {
  at::NoGradGuard no_grad;
  const at::Device device = adapter.parameters().front().value.device();
  auto copy = std::make_shared<Adapter>(projections, adapter.options(), device, 0, adapter.parallel());
  for (size_t i = 0; i < adapter.parameters().size(); ++i) {
    at::Tensor value = copy->parameters()[i].value;
    value.copy_(adapter.parameters()[i].value);
  }
  return copy;
}

}  // namespace seekrl::model
