// AdamW through libtorch's fused kernel, which passes over each parameter once on CPU and CUDA alike.
#include "train/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "ops/norm.h"

namespace seekrl::train {

namespace {

// Views of `arena` with the parameters' shapes, one after another.
std::vector<at::Tensor> slices(const at::Tensor& arena, const std::vector<model::Parameter>& parameters) {
  std::vector<at::Tensor> result;
  int64_t offset = 0;
  for (const auto& parameter : parameters) {
    const int64_t size = parameter.value.numel();
    result.push_back(arena.narrow(0, offset, size).view(parameter.value.sizes()));
    offset += size;
  }
  return result;
}

bool is_f32(const at::Tensor& tensor) { return tensor.scalar_type() == at::kFloat; }

}  // namespace

AdamW::AdamW(std::vector<model::Parameter> parameters, AdamWOptions options)
    : parameters_(std::move(parameters)), options_(options) {
  at::NoGradGuard no_grad;
  require(!parameters_.empty(), ErrorCode::kArgument, "AdamW: expected at least one parameter");
  int64_t size = 0;
  for (const auto& [name, value] : parameters_) {
    require(!value.requires_grad(), ErrorCode::kState, name, ": is trained already; close its other trainer first");
    size += value.numel();
  }
  const auto f32 = at::TensorOptions(at::kFloat).device(parameters_.front().value.device());
  gradient_arena_ = at::zeros({size}, f32);
  first_arena_ = at::zeros({size}, f32);
  second_arena_ = at::zeros({size}, f32);
  gradients_ = slices(gradient_arena_, parameters_);
  first_ = slices(first_arena_, parameters_);
  second_ = slices(second_arena_, parameters_);
  groups_.resize(2);
  groups_[0].weight_decay = options.weight_decay;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& value = parameters_[i].value;
    masters_.push_back(is_f32(value) ? value.detach() : value.detach().to(at::kFloat));
    Group& group = groups_[value.dim() < 2 && !options.decay_vectors ? 1 : 0];
    group.masters.push_back(masters_[i]);
    group.gradients.push_back(gradients_[i]);
    group.first.push_back(first_[i]);
    group.second.push_back(second_[i]);
  }
  // Last, when all memory is there: a parameter that requires gradients is somebody's.
  for (size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& value = parameters_[i].value;
    value.requires_grad_(true);
    // With a gradient already in place, autograd adds to it: gradients of every dtype are summed in the arena itself.
    value.mutable_grad() = gradients_[i];
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

void AdamW::update(const Group& group, double learning_rate, const std::optional<at::Tensor>& gradient_divisor) const {
  if (group.masters.empty()) return;
  const auto f32 = gradient_arena_.options();
  const at::Tensor step = at::full({}, static_cast<double>(num_steps_), f32);
  const std::vector<at::Tensor> steps(group.masters.size(), step);
  at::_fused_adamw_(group.masters, group.gradients, group.first, group.second, {}, steps, learning_rate, options_.beta1,
                    options_.beta2, group.weight_decay, options_.epsilon, false, false, gradient_divisor);
}

double AdamW::step(double learning_rate) {
  at::NoGradGuard no_grad;
  const double norm = ops::norm(gradient_arena_);
  if (!std::isfinite(norm)) {
    zero_gradients();
    fail(ErrorCode::kRange, "gradient norm: expected a finite number, got ", norm);
  }
  std::optional<at::Tensor> divisor;
  if (options_.max_grad_norm > 0.0 && norm > options_.max_grad_norm) {
    divisor = at::full({}, norm / options_.max_grad_norm, gradient_arena_.options());
  }
  ++num_steps_;
  for (const auto& group : groups_) update(group, learning_rate, divisor);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!is_f32(parameters_[i].value)) parameters_[i].value.detach().copy_(masters_[i]);
  }
  zero_gradients();
  return norm;
}

const at::Tensor& AdamW::gradient(const std::string& name) const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) return gradients_[i];
  }
  fail(ErrorCode::kArgument, "gradient: no parameter is called ", name);
}

std::vector<model::Parameter> AdamW::state() const {
  std::vector<model::Parameter> result;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i].name;
    result.push_back({"adamw.m." + name, first_[i]});
    result.push_back({"adamw.v." + name, second_[i]});
    if (!is_f32(parameters_[i].value)) result.push_back({"adamw.master." + name, masters_[i]});
  }
  return result;
}

}  // namespace seekrl::train
