// AdamW over a list of parameters, with its gradients and moments in one arena each.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/decoder.h"

namespace seekrl::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool decay_vectors = true;   // false: norms and biases (parameters of one axis) are not decayed
  double max_grad_norm = 1.0;  // global; <= 0 turns clipping off
};

// Decoupled weight decay and bias correction as in Loshchilov and Hutter, arXiv 1711.05101. Gradients are summed in
// f32 whatever the parameters' dtype, moments are f32, and a parameter that is not f32 has an f32 master copy.
class AdamW {
 public:
  // The parameters require gradients from here until the end of this object; ERR_STATE when another trains them.
  AdamW(std::vector<model::Parameter> parameters, AdamWOptions options);
  ~AdamW();
  AdamW(const AdamW&) = delete;
  AdamW& operator=(const AdamW&) = delete;

  // Adds the gradients of a loss to those summed since the last step. When the backward fails none are left: what a
  // part of it has added cannot be told from the rest.
  void backward(const at::Tensor& loss);

  // One update with the gradients summed since the last; zeroes them. Returns their global norm before clipping.
  // A norm that is not finite throws ERR_RANGE and changes nothing but the gradients, which are zeroed.
  double step(double learning_rate);

  void zero_gradients();
  const at::Tensor& gradient(const std::string& name) const;
  const std::vector<model::Parameter>& parameters() const { return parameters_; }

  // Everything a resumed run needs besides the weights, as views: "adamw.m.<name>", "adamw.v.<name>" and, where
  // there is one, "adamw.master.<name>".
  std::vector<model::Parameter> state() const;
  int64_t num_steps() const { return num_steps_; }
  void set_num_steps(int64_t num_steps) { num_steps_ = num_steps; }

 private:
  // Parameters that share a weight decay, as the fused kernel wants them: parallel lists.
  struct Group {
    double weight_decay = 0.0;
    std::vector<at::Tensor> masters, gradients, first, second;
  };

  void update(const Group& group, double learning_rate, const std::optional<at::Tensor>& gradient_divisor) const;

  std::vector<model::Parameter> parameters_;
  AdamWOptions options_;
  at::Tensor gradient_arena_, first_arena_, second_arena_;  // f32
  std::vector<at::Tensor> masters_, gradients_, first_, second_;
  std::vector<Group> groups_;
  int64_t num_steps_ = 0;
};

}  // namespace seekrl::train
