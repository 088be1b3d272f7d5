// The norm over all gradients, then one pass over each parameter.
#include "train/adamw.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/idle_memory.h"
#include "kernels/adamw.h"
#include "ops/gpu/adamw.h"
#include "train/largest_gradient.h"
#include "train/zero/returned_memory.h"
#include "train/zero/square_sums.h"

namespace seekrl::train {

namespace {

double largest_of(double own, comm::ProcessGroup* group) {
  if (group == nullptr) return own;
  const at::Tensor sent = at::full({1}, own, at::kDouble), all = at::empty({group->size()}, at::kDouble);
  group->all_gather(all, sent, "all-gather of the largest gradient").wait();
  return all.max().item<double>();
}

std::vector<model::Slice> slices_of(const std::vector<model::Parameter>& parameters, const Slices& slices) {
  std::vector<model::Slice> all(parameters.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (slices.of) all[i] = slices.of(parameters[i].name);
  }
  return all;
}

// What ranks with slices share out otherwise, or what a state on disk that is joined from slices cannot be.
void check_sliced(const AdamWOptions& options) {
  require(options.process_group == nullptr && options.zero == 0 && options.gradient_shards == 0 &&
              options.reduce_dtype == at::kFloat,
          ErrorCode::kArgument,
          "tensorParallel: expected a trainer without `processGroup`, `zero`, `gradientShards` and `reduceDtype`: all "
          "ranks of the model train every sequence together");
  require(!options.has_8_bit_moments, ErrorCode::kArgument,
          "moments: expected float32 under tensor parallelism, got 8-bit, whose blocks no other number of ranks could "
          "read; leave `moments` out");
}

int num_owners(const AdamWOptions& options) {
  return options.zero > 0 && options.process_group ? options.process_group->size() : 1;
}

void check_adamw(const std::vector<model::Parameter>& parameters, const AdamWOptions& options) {
  require(!parameters.empty(), ErrorCode::kArgument, "AdamW: expected at least one parameter");
  for (const auto& [name, value] : parameters) {
    require(!value.requires_grad(), ErrorCode::kState, name, ": is trained already; close its other trainer first");
    const bool is_f32 = value.scalar_type() == at::kFloat;
    require(is_f32 || value.scalar_type() == at::kBFloat16, ErrorCode::kDtype, name, ": expected f32 or bf16, got ",
            value.scalar_type());
    require(options.has_master || !is_f32, ErrorCode::kArgument,
            "masterWeights: false: expected a bfloat16 model; float32 weights are their own master");
  }
}

bool parts_weights(const AdamWOptions& options) { return num_owners(options) > 1 && options.zero == 3; }

}  // namespace

std::shared_ptr<const model::StoredWeights> unread_of(const model::Policy& policy,
                                                      const std::vector<model::Parameter>& trained,
                                                      const AdamWOptions& options) {
  if (policy.adapter != nullptr) return nullptr;
  const auto unread = parts_weights(options) ? policy.decoder->take_unread(trained) : nullptr;
  if (unread == nullptr) policy.decoder->need_whole();
  return unread;
}

AdamW::AdamW(std::vector<model::Parameter> parameters, AdamWOptions options, Slices slices,
             const std::shared_ptr<const model::StoredWeights>& unread)
    : parameters_(std::move(parameters)),
      options_(std::move(options)),
      parallel_(slices.parallel),
      slices_(slices_of(parameters_, slices)),
      layout_(parameters_, num_owners(options_)),
      pieces_(layout_.pieces(rank())) {
  at::NoGradGuard no_grad;
  check_adamw(parameters_, options_);
  if (parallel_.is_split()) check_sliced(options_);
  enter(Work::kTrain);  // what an idle engine holds may be where its state will be
  const std::shared_ptr<comm::ProcessGroup>& group = options_.process_group;
  const bool is_shared = layout_.num_ranks() > 1, is_tree = options_.gradient_shards > 0;
  if (parts_weights(options_)) {
    weights_ = std::make_unique<SharedWeights>(parameters_, layout_, group);
  } else {
    weights_ = std::make_unique<WholeWeights>(parameters_, layout_, group);
  }
  if (unread != nullptr) read_pieces(*unread);
  for (const Piece& piece : pieces_) trained_.push_back(make_trained(piece));
  if (is_tree || (is_shared && options_.zero >= 2)) {
    gradients_ =
        std::make_unique<SharedGradients>(parameters_, layout_, group, options_.gradient_shards, options_.reduce_dtype);
    pass_ = std::make_unique<Pass>(layout_, *gradients_, *weights_);
  } else {
    gradients_ = std::make_unique<WholeGradients>(parameters_, layout_, group, options_.reduce_dtype);
  }
  for (size_t i = 0; i < pieces_.size(); ++i) trained_[i].gradient = gradients_->own(pieces_[i]);
}

ops::TrainedParameter AdamW::make_trained(const Piece& piece) const {
  const at::Tensor& value = parameters_[piece.parameter].value;
  // Moments of a whole parameter have its shape on disk.
  const auto shape = piece.count == value.numel() ? value.sizes().vec() : std::vector<int64_t>{piece.count};
  ops::TrainedParameter trained;
  trained.value = weights_->own(piece);
  // Slices of one weight are rounded by other draws.
  const bool is_slice = !slices_[piece.parameter].is_all();
  trained.stream = static_cast<int64_t>(piece.parameter + (is_slice ? parallel_.rank() * parameters_.size() : 0));
  trained.offset = piece.first;
  const std::string& folder = options_.state_folder;
  trained.first = ops::zero_moment(shape, value.device(), options_.has_8_bit_moments, folder);
  trained.second = ops::zero_moment(shape, value.device(), options_.has_8_bit_moments, folder);
  if (value.scalar_type() != at::kFloat && options_.has_master) {
    trained.low = ops::zero_state(shape, value.device(), at::kShort, folder);
  }
  trained.weight_decay = value.dim() < 2 && !options_.decay_vectors ? 0.0 : options_.weight_decay;
  return trained;
}

void AdamW::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    zero_gradients();
    throw;
  }
}

void AdamW::accumulate(const Forward& forward) {
  if (pass_ == nullptr) {
    const at::Tensor loss = forward(nullptr);
    return guarded([&] { loss.backward(); });
  }
  guarded([&] {
    pass_->begin();
    forward(pass_.get()).backward();
    pass_->end();
  });
}

void AdamW::idle() {
  if (pass_ != nullptr) guarded([&] { pass_->idle(); });
}

void AdamW::zero_gradients() { gradients_->zero(); }

// What is thrown here leaves nothing to be summed on; all ranks throw it, or none.
void AdamW::check_gradients(double norm, double divisor) {
  guarded([&] {
    require(std::isfinite(norm), ErrorCode::kRange, "gradient norm: expected a finite number, got ", norm);
    // No gradient is above the norm; only where that does not settle it are they looked at.
    if (norm / divisor < kMostGradient) return;
    double largest = 0;
    for (const ops::TrainedParameter& each : trained_) {
      largest = std::max(largest, each.gradient.abs().max().item<double>() / divisor);
    }
    largest = largest_of(largest, layout_.num_ranks() > 1 ? group() : parallel_.group().get());
    require(largest < kMostGradient, ErrorCode::kRange, "gradient: expected less than ", kMostGradient,
            ", whose square float32 holds, got ", largest, "; set maxGradNorm");
  });
}

// Each rank's own part, added in the order of ranks; of what all have under tensor parallelism, rank 0's.
double AdamW::gpu_norm() const {
  std::vector<ops::TrainedParameter> counted;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (is_counted(slices_[pieces_[i].parameter])) counted.push_back(trained_[i]);
  }
  const at::Tensor own = ops::gpu_squared_norm(counted, parameters_.front().value.device());
  if (!parallel_.is_split() && layout_.num_ranks() == 1) return std::sqrt(own.item<double>());
  comm::ProcessGroup* const ranks = parallel_.is_split() ? parallel_.group().get() : group();
  const at::Tensor all = at::empty({ranks->size()}, at::kDouble);
  ranks->all_gather(all, own.to(at::kCPU), "all-gather of the gradient's norm").wait();
  return std::sqrt(all.sum().item<double>());
}

// What every rank has counts once.
bool AdamW::is_counted(const model::Slice& slice) const {
  return !parallel_.is_split() || !slice.is_all() || parallel_.rank() == 0;
}

std::vector<BlockRun> AdamW::gradient_runs(const std::function<bool(const model::Slice&)>& is_wanted) const {
  std::vector<BlockRun> runs;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const auto [parameter, first, count, place] = pieces_[i];
    if (!is_wanted(slices_[parameter])) continue;
    constexpr int64_t kBlock = kernels::kMomentBlock;
    runs.push_back({trained_[i].gradient.const_data_ptr<float>(), layout_.first_block(parameter) + first / kBlock,
                    (count + kBlock - 1) / kBlock});
  }
  return runs;
}

// Squares of slices are summed over ranks, in their order.
double AdamW::sliced_norm() const {
  const double own = square_sum(gradient_runs([&](const model::Slice& slice) { return is_counted(slice); }), nullptr);
  const at::Tensor sent = at::full({1}, own, at::kDouble), all = at::empty({parallel_.size()}, at::kDouble);
  parallel_.group()->all_gather(all, sent, "tensor parallelism: the gradient's norm").wait();
  double sum = 0;
  for (int64_t rank = 0; rank < parallel_.size(); ++rank) sum += all.const_data_ptr<double>()[rank];
  return std::sqrt(sum);
}

double AdamW::norm() const {
  if (!parameters_.front().value.is_cpu()) return gpu_norm();
  if (parallel_.is_split()) return sliced_norm();
  const std::vector<BlockRun> runs = gradient_runs([](const model::Slice&) { return true; });
  return std::sqrt(square_sum(runs, layout_.num_ranks() > 1 ? group() : nullptr));
}

double AdamW::step(double learning_rate) {
  at::NoGradGuard no_grad;
  gradients_->reduce();
  const double norm = this->norm();  // waits for a GPU
  if (group() != nullptr) group()->require_whole("gradients");
  parallel_.require_whole();
  const bool is_clipped = options_.max_grad_norm > 0.0 && norm > options_.max_grad_norm;
  const double divisor = is_clipped ? norm / options_.max_grad_norm : 1.0;
  check_gradients(norm, divisor);
  ops::AdamWRates rates{learning_rate, options_.beta1, options_.beta2, options_.epsilon, ++num_steps_, divisor};
  weights_->begin_update();
  if (!trained_.empty()) ops::adamw(trained_, rates);
  if (layout_.num_ranks() > 1) zero_gradients();  // those of other ranks' pieces too
  weights_->end_update();
  if (layout_.num_ranks() > 1) return_idle_memory();
  return norm;
}

void AdamW::gather_weights() {
  weights_->gather();
  if (layout_.num_ranks() > 1) group()->finish("weights");
}

at::Tensor AdamW::gradient(const std::string& name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name != name) continue;
    return parallel_.joined(gradients_->total(i), slices_[i], "the gradient of " + name);
  }
  fail(ErrorCode::kArgument, "gradient: no parameter is called ", name);
}

}  // namespace seekrl::train
