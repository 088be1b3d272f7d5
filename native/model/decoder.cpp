// The forward pass of every family.
#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/scalar_tensor.h>

#include "base/error.h"
#include "model/pass/boundary.h"
#include "model/pass/recompute.h"
#include "model/stored/parameter_memory.h"
#include "ops/elementwise/add.h"
#include "ops/embedding.h"
#include "ops/gpu/gpu.h"
#include "ops/gpu/products/product.h"
#include "ops/rms_norm.h"
#include "ops/select_rows.h"

namespace seekrl::model {

namespace {

double rounded(double value, at::ScalarType dtype) {
  return at::scalar_tensor(value, at::kFloat).to(dtype).item<double>();
}

}  // namespace

at::Tensor Decoder::forward(const at::Tensor& tokens_T, const at::Tensor& positions_T, Attention& attention,
                            const at::Tensor& rows_R, const AdapterRows& adapted, const TrainingPass& pass) const {
  require(tokens_T.dim() == 1 && tokens_T.sizes() == positions_T.sizes(), ErrorCode::kShape,
          "decoder: expected tokens and positions [T], got ", tokens_T.sizes(), " and ", positions_T.sizes());
  TORCH_INTERNAL_ASSERT(tokens_T.scalar_type() == positions_T.scalar_type());
  // What an observer does not bring, such as the weights under an adapter, may be unread still.
  pass.observer == nullptr ? need_whole() : read_unread();
  const AdapterRows adapters = adapted.on(device_, dtype_, tokens_T.size(0));
  const RopeTable::Angles angles = rope_table_.at(positions_T);
  const RopeTable::Angles sliding_angles = config_.sliding_rope ? sliding_rope_table_.at(positions_T) : angles;
  Stream stream = {embedded(tokens_T), {}};
  const auto num_layers = static_cast<int64_t>(layers_.size());
  for (int64_t i = 0; i < num_layers; ++i) {
    stream = crossed(pass, i, stream);
    const at::Tensor kept_R = i + 1 == num_layers ? rows_R : at::Tensor();
    const bool is_sliding = layers_[static_cast<size_t>(i)].type == LayerType::kSliding;
    const RopeTable::Angles own_angles = is_sliding ? sliding_angles : angles;
    if (i >= pass.num_recomputed) {
      stream = layer_block(i, stream, own_angles, attention, kept_R, adapters);
      continue;
    }
    const Stage layer = [this, i, own_angles, &attention, kept_R, adapters](const at::Tensor& input_TD) {
      const Stream to = layer_block(i, {input_TD, {}}, own_angles, attention, kept_R, adapters);
      return ops::add(to.x_TD, to.added_TD);
    };
    stream.x_TD = recomputed(layer, stream.x_TD);
  }
  return normed(crossed(pass, num_layers, stream), norm_D_).second;
}

Decoder::Stream Decoder::crossed(const TrainingPass& pass, int64_t layer, const Stream& stream) {
  if (pass.observer == nullptr) return stream;
  const auto [x_TD, added_TD] = boundary(*pass.observer, layer, stream.x_TD, stream.added_TD);
  return {x_TD, added_TD};
}

void Decoder::need_whole() const {
  read_unread();
  require(
      has_memory(parameters_.front().value), ErrorCode::kState,
      "weights: each rank has a share of them since a training step; call the trainer's gatherWeights() on all ranks "
      "first");
}

// Of a split vocabulary each rank gives the rows of its own tokens, and the others zeros.
at::Tensor Decoder::embedded(const at::Tensor& tokens_T) const {
  const double scale = rounded(config_.embedding_scale, dtype_);
  if (!parallel_.is_split()) return ops::embedding(embedding_VD_, tokens_T, scale);
  const Slice slice = parallel_.rows(config_.vocab_size);
  const at::Tensor places_T = tokens_T - slice.first;
  const at::Tensor is_own_T = places_T.ge(0).logical_and_(places_T.lt(slice.count));
  const at::Tensor rows_TD = ops::embedding(embedding_VD_, places_T.clamp(0, slice.count - 1), scale);
  return parallel_.summed(rows_TD * is_own_T.to(rows_TD.scalar_type()).unsqueeze(1));
}

int64_t Decoder::logits_part() const {
  return parallel_.is_split() ? (config_.vocab_size + parallel_.size() - 1) / parallel_.size() : 0;
}

at::Tensor Decoder::logits(const at::Tensor& hidden_RD) const {
  const at::Tensor own_RV =
      device_.is_cpu() ? ops::linear(hidden_RD, head_VD_, {}) : ops::gpu_logits(hidden_RD, head_VD_);
  if (!parallel_.is_split()) return own_RV;
  return parallel_.joined_rows(own_RV.t(), parallel_.rows(config_.vocab_size)).t();
}

ops::TokenLogprob Decoder::token_logprob(const at::Tensor& hidden_RD, const at::Tensor& ids_R,
                                         double temperature) const {
  return ops::token_logprob(parallel_.shared(hidden_RD), head_VD_, ids_R, temperature, config_.logit_softcap,
                            parallel_.head_slice(parallel_.rows(config_.vocab_size)));
}

// x itself where the model has no such norm.
at::Tensor Decoder::normed(const at::Tensor& x, const at::Tensor& weight_D) const {
  return weight_D.defined() ? ops::rms_norm(x, weight_D, config_.rms_norm_eps, config_.norm_offset) : x;
}

// The sum and its norm.
std::pair<at::Tensor, at::Tensor> Decoder::normed(const Stream& stream, const at::Tensor& weight_D) const {
  const auto& [x_TD, added_TD] = stream;
  if (!added_TD.defined()) return {x_TD, normed(x_TD, weight_D)};
  const auto [sum_TD, normed_TD] = ops::add_norm(x_TD, added_TD, weight_D, config_.rms_norm_eps, config_.norm_offset);
  return {sum_TD, normed_TD};
}

Decoder::Stream Decoder::layer_block(int64_t index, const Stream& stream, const RopeTable::Angles& angles,
                                     Attention& attention, const at::Tensor& rows_R,
                                     const AdapterRows& adapters) const {
  const Layer& layer = layers_[static_cast<size_t>(index)];
  const RopeTable::Angles* turned_by = layer.type == LayerType::kNoRope ? nullptr : &angles;
  const auto [x_TD, entered_TD] = normed(stream, layer.attention_norm_D);
  const at::Tensor mixed = attention_block(layer, index, entered_TD, turned_by, attention, rows_R, adapters);
  const at::Tensor kept_TD = rows_R.defined() ? ops::select_rows(x_TD, rows_R) : x_TD;
  const auto [sum_TD, normed_TD] = normed({kept_TD, normed(mixed, layer.attention_post_norm_D)}, layer.mlp_norm_D);
  const at::Tensor fed = mlp_block(layer, normed_TD, adapters.select(rows_R));
  return {sum_TD, normed(fed, layer.mlp_post_norm_D)};
}

at::Tensor Decoder::attention_block(const Layer& layer, int64_t index, const at::Tensor& x_TD,
                                    const RopeTable::Angles* angles, Attention& attention, const at::Tensor& rows_R,
                                    const AdapterRows& adapters) const {
  const int64_t num_tokens = x_TD.size(0), head_dim = config_.head_dim;
  const int64_t num_heads = own_config_.num_heads, num_kv_heads = own_config_.num_kv_heads;
  const at::Tensor entered_TD = parallel_.shared(x_TD);
  Heads heads = {layer.q.apply(entered_TD, adapters).view({num_tokens, num_heads, head_dim}),
                 layer.k.apply(entered_TD, adapters).view({num_tokens, num_kv_heads, head_dim}),
                 layer.v.apply(entered_TD, adapters).view({num_tokens, num_kv_heads, head_dim}),
                 parallel_.shared(layer.q_norm_C),
                 parallel_.shared(layer.k_norm_C),
                 config_.rms_norm_eps,
                 config_.norm_offset,
                 angles};
  at::Tensor mixed = attention.attend(index, heads, layer.rule);
  if (rows_R.defined()) mixed = ops::select_rows(mixed, rows_R);
  return layer.o.apply_summed(mixed.reshape({mixed.size(0), num_heads * head_dim}), adapters.select(rows_R), parallel_);
}

at::Tensor Decoder::mlp_block(const Layer& layer, const at::Tensor& x_TD, const AdapterRows& adapters) const {
  return config_.num_experts > 0 ? layer.experts.apply(x_TD, config_.gate, adapters, parallel_)
                                 : layer.feed_forward.apply(x_TD, config_.gate, adapters, parallel_);
}

}  // namespace seekrl::model
