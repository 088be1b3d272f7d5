// The norm over all gradients, then one pass over each parameter.
#include "train/adamw.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/idle_memory.h"
#include "base/mapped_file.h"
#include "model/stored/stored_numbers.h"
#include "ops/norm.h"

namespace seekrl::train {

namespace {

// Of gradients. A quarter of what f32 holds when squared: a root is rounded before it is squared again.
constexpr double kMost = 0x1p63;

}  // namespace

AdamW::AdamW(std::vector<model::Parameter> parameters, AdamWOptions options)
    : parameters_(std::move(parameters)), options_(options) {
  at::NoGradGuard no_grad;
  enter(Work::kTrain);  // what an idle engine holds may be where its state will be
  require(!parameters_.empty(), ErrorCode::kArgument, "AdamW: expected at least one parameter");
  int64_t size = 0;
  for (const model::Parameter& parameter : parameters_) {
    trained_.push_back(make_trained(parameter));
    size += parameter.value.numel();
  }
  gradient_arena_ = ops::zero_state({size}, parameters_.front().value.device(), at::kFloat);
  attach_gradients();
}

ops::TrainedParameter AdamW::make_trained(const model::Parameter& parameter) const {
  const auto& [name, value] = parameter;
  require(!value.requires_grad(), ErrorCode::kState, name, ": is trained already; close its other trainer first");
  const bool is_f32 = value.scalar_type() == at::kFloat;
  require(is_f32 || value.scalar_type() == at::kBFloat16, ErrorCode::kDtype, name, ": expected f32 or bf16, got ",
          value.scalar_type());
  require(options_.has_master || !is_f32, ErrorCode::kArgument,
          "masterWeights: false: expected a bfloat16 model; float32 weights are their own master");
  ops::TrainedParameter trained;
  trained.value = value;
  const std::string& folder = options_.state_folder;
  trained.first = ops::zero_moment(value.sizes(), value.device(), options_.has_8_bit_moments, folder);
  trained.second = ops::zero_moment(value.sizes(), value.device(), options_.has_8_bit_moments, folder);
  if (!is_f32 && options_.has_master) {
    trained.low = ops::zero_state(value.sizes(), value.device(), at::kShort, folder);
  }
  trained.weight_decay = value.dim() < 2 && !options_.decay_vectors ? 0.0 : options_.weight_decay;
  return trained;
}

// When all memory is there: a parameter that requires gradients is somebody's.
void AdamW::attach_gradients() {
  int64_t offset = 0;
  for (ops::TrainedParameter& trained : trained_) {
    const int64_t size = trained.value.numel();
    trained.gradient = gradient_arena_.narrow(0, offset, size).view(trained.value.sizes());
    offset += size;
  }
  for (ops::TrainedParameter& trained : trained_) {
    trained.value.requires_grad_(true);
    // With a gradient already in place, autograd adds to it: gradients of every dtype are summed in the arena itself.
    trained.value.mutable_grad() = trained.gradient;
  }
}

AdamW::~AdamW() {
  for (auto& parameter : parameters_) {
    parameter.value.mutable_grad().reset();
    parameter.value.requires_grad_(false);
  }
}

void AdamW::backward(const at::Tensor& loss) {
  try {
    loss.backward();
  } catch (...) {
    zero_gradients();
    throw;
  }
}

void AdamW::zero_gradients() { gradient_arena_.zero_(); }

// What is thrown here leaves nothing to be summed on.
void AdamW::check_gradients(double norm, double divisor) {
  try {
    require(std::isfinite(norm), ErrorCode::kRange, "gradient norm: expected a finite number, got ", norm);
    // No gradient is above the norm; only where that does not settle it are they looked at.
    if (norm / divisor < kMost) return;
    const double largest = gradient_arena_.abs().max().item<double>() / divisor;
    require(largest < kMost, ErrorCode::kRange, "gradient: expected less than ", kMost,
            ", whose square float32 holds, got ", largest, "; set maxGradNorm");
  } catch (...) {
    zero_gradients();
    throw;
  }
}

double AdamW::step(double learning_rate) {
  at::NoGradGuard no_grad;
  if (options_.process_group) options_.process_group->all_reduce(gradient_arena_, "all-reduce of gradients").wait();
  const double norm = ops::norm(gradient_arena_);
  const bool is_clipped = options_.max_grad_norm > 0.0 && norm > options_.max_grad_norm;
  const double divisor = is_clipped ? norm / options_.max_grad_norm : 1.0;
  check_gradients(norm, divisor);
  ops::AdamWRates rates{learning_rate, options_.beta1, options_.beta2, options_.epsilon, ++num_steps_, divisor};
  ops::adamw(trained_, rates);
  return norm;
}

const at::Tensor& AdamW::gradient(const std::string& name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) return trained_[i].gradient;
  }
  fail(ErrorCode::kArgument, "gradient: no parameter is called ", name);
}

std::vector<model::Parameter> AdamW::state() const {
  std::vector<model::Parameter> result;
  const auto add = [&](const std::string& kind, const std::string& name, const ops::Moment& moment) {
    const bool has_codes = moment.scales.defined();
    const std::string prefix = "adamw." + kind + (has_codes ? "8." : ".") + name;
    result.push_back({prefix, moment.values});
    if (has_codes) result.push_back({prefix + ".scale", moment.scales});
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i].name;
    const ops::TrainedParameter& trained = trained_[i];
    add("m", name, trained.first);
    add(trained.second.scales.defined() ? "root" : "v", name, trained.second);
    if (trained.low.defined()) result.push_back({"adamw.low." + name, trained.low});
  }
  return result;
}

void AdamW::check_state(const std::vector<model::StoredTensor>& stored) const {
  const model::TensorsByName found = model::by_name(stored);
  constexpr auto kMean = static_cast<float>(kMost);  // that of gradients is no larger than they are
  for (const auto& [name, value] : state()) {
    const bool is_mean = name.starts_with("adamw.m."), is_square = name.starts_with("adamw.v.");
    if (!is_mean && !is_square && !name.ends_with(".scale")) continue;
    const model::StoredTensor& tensor = model::find_tensor(found, name, value.sizes());
    const MappedFile file(tensor.path);
    model::check_place(tensor, file, value);
    model::check_between(tensor, file, value, is_mean ? -kMean : 0, is_square ? kMean * kMean : kMean);
  }
}

}  // namespace seekrl::train
