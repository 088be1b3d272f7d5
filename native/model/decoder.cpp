// The forward pass of every family.
#include "model/decoder.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include "base/error.h"
#include "model/recompute.h"
#include "ops/card/card.h"
#include "ops/card/products/product.h"
#include "ops/elementwise/add.h"
#include "ops/embedding.h"
#include "ops/rms_norm.h"
#include "ops/select_rows.h"

namespace seekrl::model {

namespace {

double rounded(double value, at::ScalarType dtype) {
  return at::scalar_tensor(value, at::kFloat).to(dtype).item<double>();
}

}  // namespace

at::Tensor Decoder::forward(const at::Tensor& tokens_T, const at::Tensor& positions_T, Attention& attention,
                            const at::Tensor& rows_R, const AdapterRows& adapted, int64_t num_recomputed) const {
  require(tokens_T.dim() == 1 && tokens_T.sizes() == positions_T.sizes(), ErrorCode::kShape,
          "decoder: expected tokens and positions [T], got ", tokens_T.sizes(), " and ", positions_T.sizes());
  TORCH_INTERNAL_ASSERT(tokens_T.scalar_type() == positions_T.scalar_type());
  const AdapterRows adapters = adapted.on(device_, dtype_, tokens_T.size(0));
  const RopeTable::Angles angles = rope_table_.at(positions_T);
  const RopeTable::Angles sliding_angles = config_.sliding_rope ? sliding_rope_table_.at(positions_T) : angles;
  Stream stream = {ops::embedding(embedding_VD_, tokens_T, rounded(config_.embedding_scale, dtype_)), {}};
  const auto num_layers = static_cast<int64_t>(layers_.size());
  for (int64_t i = 0; i < num_layers; ++i) {
    const at::Tensor kept_R = i + 1 == num_layers ? rows_R : at::Tensor();
    const bool is_sliding = layers_[static_cast<size_t>(i)].type == LayerType::kSliding;
    const RopeTable::Angles own_angles = is_sliding ? sliding_angles : angles;
    if (i >= num_recomputed) {
      stream = layer_block(i, stream, own_angles, attention, kept_R, adapters);
      continue;
    }
    const Stage layer = [this, i, own_angles, &attention, kept_R, adapters](const at::Tensor& input_TD) {
      const Stream to = layer_block(i, {input_TD, {}}, own_angles, attention, kept_R, adapters);
      return ops::add(to.x_TD, to.added_TD);
    };
    stream.x_TD = recomputed(layer, stream.x_TD);
  }
  return normed(stream, norm_D_).second;
}

at::Tensor Decoder::logits(const at::Tensor& hidden_RD) const {
  return device_.is_cpu() ? ops::linear(hidden_RD, head_VD_, {}) : ops::card_logits(hidden_RD, head_VD_);
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
  Heads heads = {layer.q.apply(x_TD, adapters).view({num_tokens, config_.num_heads, head_dim}),
                 layer.k.apply(x_TD, adapters).view({num_tokens, config_.num_kv_heads, head_dim}),
                 layer.v.apply(x_TD, adapters).view({num_tokens, config_.num_kv_heads, head_dim}),
                 layer.q_norm_C,
                 layer.k_norm_C,
                 config_.rms_norm_eps,
                 config_.norm_offset,
                 angles};
  at::Tensor mixed = attention.attend(index, heads, layer.rule);
  if (rows_R.defined()) mixed = ops::select_rows(mixed, rows_R);
  return layer.o.apply(mixed.reshape({mixed.size(0), config_.num_heads * head_dim}), adapters.select(rows_R));
}

at::Tensor Decoder::mlp_block(const Layer& layer, const at::Tensor& x_TD, const AdapterRows& adapters) const {
  return config_.num_experts > 0 ? layer.experts.apply(x_TD, config_.gate, adapters)
                                 : layer.feed_forward.apply(x_TD, config_.gate, adapters);
}

}  // namespace seekrl::model
