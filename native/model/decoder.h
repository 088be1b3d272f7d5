// A decoder-only transformer over a packed batch of tokens: Llama, Qwen and the families that differ from them by an
// option of DecoderConfig.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/adapters/adapter_rows.h"
#include "model/attention.h"
#include "model/config.h"
#include "model/experts.h"
#include "model/parallel/tensor_parallel.h"
#include "model/parameter.h"
#include "model/pass/pass_observer.h"
#include "model/projection.h"
#include "model/rope/rope_table.h"
#include "ops/head/token_logprob.h"

namespace seekrl::model {

class StoredWeights;

// A frozen quantised weight under its Hugging Face name.
struct QuantParameter {
  std::string name;
  ops::QuantWeight value;
  size_t place = 0;  // among all weights, quantised or not
};

// What a forward with autograd is told besides.
struct TrainingPass {
  int64_t num_recomputed = 0;        // so many layers, the first ones, keep their input alone for the backward
  PassObserver* observer = nullptr;  // lives until the backward pass
};

// One copy of the weights, shared by the engine and the trainer. Device thread only, save where said.
class Decoder {
 public:
  // Told of each weight, whole, before it is allocated, and may throw.
  using Expect = std::function<void(const std::string& name, at::IntArrayRef shape)>;

  // How a projection or the head is quantised, by its name; nothing where it is a parameter.
  using QuantOf = std::function<std::optional<ops::QuantKind>(const std::string& name)>;

  // Parameters are allocated and zero; fill them with read_weights (weights.h) or initialise. A tied quantised head
  // is a copy of its own; embeddings, norms and biases stay in `dtype`. With a group of several ranks this one holds
  // its slices alone. One that is unread has parameters without memory, until it is given `stored`.
  Decoder(DecoderConfig config, at::ScalarType dtype, at::Device device, QuantOf quant_of = {},
          const Expect& expect = {}, std::shared_ptr<comm::ProcessGroup> group = nullptr, bool is_unread = false);

  // Normal weights of standard deviation `std` (norms at one, biases at zero), drawn from a counter-based generator.
  void initialise(uint64_t seed, double std);

  // tokens_T, positions_T: i64 [T], on a GPU i32 as well. Returns the hidden states after the final norm, [T, D]; with
  // rows_R (i64 [R], in any order, also more than once) those rows alone, [R, D]: of the last layer the others need
  // their keys and values only. `adapted`: the T rows. With autograd `attention` lives until the backward pass.
  // ERR_STATE while ranks have shares of the weights and `pass` has no observer that brings them.
  at::Tensor forward(const at::Tensor& tokens_T, const at::Tensor& positions_T, Attention& attention,
                     const at::Tensor& rows_R = {}, const AdapterRows& adapted = {},
                     const TrainingPass& pass = {}) const;

  // How many logits of a row each rank makes, all but the last one's; 0 where one process makes all.
  int64_t logits_part() const;

  // Of rows that `forward` returned: [R, V], on all ranks, before the softcap; f32 on a GPU, whatever the weights are.
  at::Tensor logits(const at::Tensor& hidden_RD) const;

  // How probable each row finds its id, after the softcap (ops/head/token_logprob.h).
  ops::TokenLogprob token_logprob(const at::Tensor& hidden_RD, const at::Tensor& ids_R, double temperature) const;

  // Whether a forward of given shapes asks the same of a GPU each time, and the host nothing of what it computes: not
  // where experts run one after another.
  bool is_capturable(const AdapterRows& adapters) const {
    return config_.num_experts == 0 || layers_.front().experts.are_together(adapters);
  }

  // The output head's weight, [V, D]: the embedding itself when tied and not quantised.
  const ops::Weight& head_VD() const { return head_VD_; }

  const std::vector<Parameter>& parameters() const { return parameters_; }
  // The quantised ones, which are no parameters.
  const std::vector<QuantParameter>& quantised() const { return quantised_; }
  const QuantOf& quant_of() const { return quant_of_; }
  // Takes those of another decoder of the same shape; both read the same memory.
  void share_quantised(const Decoder& from);
  // A quantised one too, then as f32. Whole: of a split one all ranks take part.
  at::Tensor parameter(const std::string& name) const;
  // What this rank has of it; a quantised one as f32.
  at::Tensor own_parameter(const std::string& name) const;
  // What this rank holds of a weight.
  Slice slice_of(const std::string& name) const;
  // What adapters can be put on, layer by layer.
  const std::vector<ProjectionShape>& projections() const { return projections_; }
  const DecoderConfig& config() const { return config_; }
  // The shape of what this rank computes: its heads and channels.
  const DecoderConfig& own_config() const { return own_config_; }
  TensorParallel& parallel() { return parallel_; }
  const TensorParallel& parallel() const { return parallel_; }
  at::ScalarType dtype() const { return dtype_; }
  at::Device device() const { return device_; }

  // All weights are there from here on: what is unread is read now, which throws as read_weights. ERR_STATE while ranks
  // keep but a share each of what is trained (train/zero/weights.h).
  void need_whole() const;

  // Where the parameters stand of one that was made unread, until they are read whole or changed.
  const std::shared_ptr<const StoredWeights>& stored() const { return stored_; }
  void set_stored(std::shared_ptr<const StoredWeights> stored) { stored_ = std::move(stored); }
  // Leaves it to the caller to read these parameters, and to bring them; the others are read here. Null where nothing
  // is unread.
  std::shared_ptr<const StoredWeights> take_unread(const std::vector<Parameter>& taken);

  // Moves by one with each change of the weights; the engine's caches are dropped with it. From any thread.
  int64_t weights_version() const { return weights_version_; }
  void weights_changed() { weights_changed_to(weights_version_ + 1); }
  // To those of another process, whose version it was.
  void weights_changed_to(int64_t version) {
    stored_ = nullptr;
    weights_version_ = version;
  }

 private:
  struct Layer {
    at::Tensor attention_norm_D, mlp_norm_D;
    at::Tensor attention_post_norm_D, mlp_post_norm_D;  // undefined without post_norms
    at::Tensor q_norm_C, k_norm_C;                      // undefined without qk_norm
    Projection q, k, v, o;
    FeedForward feed_forward;  // without experts
    Experts experts;
    LayerType type = LayerType::kFull;
    kernels::ScoreRule rule;
  };

  at::Tensor add(const std::string& name, at::IntArrayRef shape, const Expect& expect, const Slice& slice = {});
  void read_unread() const;
  void read_but(const std::vector<Parameter>& taken) const;
  ops::Weight add_weight(const std::string& name, int64_t n, int64_t k, const Expect& expect, const Slice& slice);
  ops::Weight add_quant(const std::string& name, ops::QuantKind kind, int64_t n, int64_t k);
  ops::Weight add_head(const Expect& expect);
  Layer add_layer(int64_t index, const Expect& expect);
  // The residual stream between two layers: what the last one gives is added where the next one norms the sum.
  struct Stream {
    at::Tensor x_TD, added_TD;  // the second undefined where there is nothing to add
  };
  static Stream crossed(const TrainingPass& pass, int64_t layer, const Stream& stream);
  at::Tensor normed(const at::Tensor& x, const at::Tensor& weight_D) const;
  std::pair<at::Tensor, at::Tensor> normed(const Stream& stream, const at::Tensor& weight_D) const;
  Stream layer_block(int64_t index, const Stream& stream, const RopeTable::Angles& angles, Attention& attention,
                     const at::Tensor& rows_R, const AdapterRows& adapters) const;
  at::Tensor attention_block(const Layer& layer, int64_t index, const at::Tensor& x_TD, const RopeTable::Angles* angles,
                             Attention& attention, const at::Tensor& rows_R, const AdapterRows& adapters) const;
  template <class AnyLayer>
  static auto projections_of(AnyLayer& layer);
  Experts add_experts(const std::string& prefix, const Expect& expect);
  at::Tensor embedded(const at::Tensor& tokens_T) const;
  at::Tensor mlp_block(const Layer& layer, const at::Tensor& x_TD, const AdapterRows& adapters) const;

  DecoderConfig config_;
  TensorParallel parallel_;
  DecoderConfig own_config_;
  std::unordered_map<std::string, Slice> slices_;  // of weights that are split
  at::ScalarType dtype_;
  at::Device device_;
  bool is_unread_;  // when it is made
  bool is_taken_ = false;
  mutable std::shared_ptr<const StoredWeights> stored_;
  std::vector<Parameter> parameters_;
  std::vector<ProjectionShape> projections_;
  std::vector<Layer> layers_;
  QuantOf quant_of_;
  std::vector<QuantParameter> quantised_;
  at::Tensor embedding_VD_, norm_D_;
  ops::Weight head_VD_;
  mutable RopeTable rope_table_, sliding_rope_table_;  // grow with the positions seen
  std::atomic<int64_t> weights_version_{0};
};

// Every projection quantised alike and the head in int8; nothing without a kind.
Decoder::QuantOf quant_all(std::optional<ops::QuantKind> kind);

}  // namespace seekrl::model
