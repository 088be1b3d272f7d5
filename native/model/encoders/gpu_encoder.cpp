// The forward pass over packed texts, launch by launch.
#include "model/encoders/gpu_encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "ops/gpu/products/product.h"

namespace seekrl::model {

namespace {

constexpr std::array<int64_t, 6> kHeadDims = {32, 64, 80, 96, 128, 256};
constexpr int64_t kMostWidth = 16384;

void check_sizes(const EncoderConfig& config) {
  const int64_t head_dim = config.hidden_size / config.num_heads;
  require(std::find(kHeadDims.begin(), kHeadDims.end(), head_dim) != kHeadDims.end(), ErrorCode::kArgument,
          "encoder: on a GPU expected heads of width 32, 64, 80, 96, 128 or 256, got ", head_dim,
          "; this model runs on device cpu");
  const bool is_wide = config.hidden_size <= kMostWidth && config.intermediate_size % 8 == 0;
  require(is_wide, ErrorCode::kArgument, "encoder: on a GPU expected rows of at most ", kMostWidth,
          " and inner rows of a multiple of 8, got ", config.hidden_size, " and ", config.intermediate_size,
          "; this model runs on device cpu");
}

cuda::PoolKind pool_kind(Pooling pooling) {
  if (pooling == Pooling::kMean) return cuda::PoolKind::kMean;
  return pooling == Pooling::kLast ? cuda::PoolKind::kLast : cuda::PoolKind::kFirst;
}

at::Tensor linear(const at::Tensor& x_TK, const Affine& affine) {
  return ops::gpu_linear(x_TK, affine.weight, affine.bias, affine.weight.scalar_type());
}

// The same with its sums in f32.
at::Tensor exact_linear(const at::Tensor& x_TK, const Affine& affine) {
  at::Tensor out_TN = at::empty({x_TK.size(0), affine.weight.size(0)}, x_TK.options().dtype(at::kFloat));
  ops::gpu_product(out_TN, x_TK, affine.weight, cuda::ProductForm::kForward, false, affine.bias);
  return out_TN;
}

}  // namespace

GpuEncoder::GpuEncoder(const EncoderConfig& config, at::ScalarType dtype, at::Device device, Pooling pooling,
                       bool is_normalised, const std::vector<StoredTensor>& stored)
    : config_(config), device_(device), pooling_(pooling), is_normalised_(is_normalised) {
  require(dtype == at::kBFloat16, ErrorCode::kDtype, "dtype: encoders on a GPU have bfloat16, got float32; give dtype ",
          "bfloat16 or device cpu");
  const at::NoGradGuard no_grad;
  EncoderWeights weights = read_encoder(config, dtype, dtype, stored);
  check_sizes(config);
  words_VD_ = weights.words_VD.to(device);
  positions_PD_ = weights.positions_PD.to(device);
  types_YD_ = weights.types_YD.to(device);
  embedding_norm_ = norm_on_gpu(weights.embedding_norm);
  for (; !weights.layers.empty(); weights.layers.pop_front()) layers_.push_back(laid_out(weights.layers.front()));
  if (!config.has_classifier) return;
  classifier_dense_ = on_gpu(weights.classifier_dense);
  classifier_out_ = on_gpu(weights.classifier_out);
}

Affine GpuEncoder::on_gpu(const Affine& stored) const { return {stored.weight.to(device_), stored.bias.to(device_)}; }

Affine GpuEncoder::norm_on_gpu(const Affine& stored) const {
  return {stored.weight.to(at::kFloat).to(device_), stored.bias.to(at::kFloat).to(device_)};
}

GpuEncoder::Layer GpuEncoder::laid_out(const StoredEncoderLayer& stored) const {
  return {on_gpu({at::cat({stored.query.weight, stored.key.weight, stored.value.weight}),
                  at::cat({stored.query.bias, stored.key.bias, stored.value.bias})}),
          on_gpu(stored.attention_out),
          norm_on_gpu(stored.attention_norm),
          on_gpu(stored.inner),
          on_gpu(stored.outer),
          norm_on_gpu(stored.out_norm)};
}

void GpuEncoder::encode(const TextBatch& batch, float* out, int /*num_helpers*/) const {
  check_texts(batch, config_);
  const at::NoGradGuard no_grad;
  const ops::TextTables texts = ops::text_tables(batch.starts, device_);
  Rows rows = embed(batch, texts);
  for (const Layer& layer : layers_) run_layer(layer, rows, texts);
  const at::Tensor pooled = pool(rows, texts).to(at::kCPU).contiguous();
  std::copy_n(pooled.const_data_ptr<float>(), pooled.numel(), out);
}

GpuEncoder::Rows GpuEncoder::embed(const TextBatch& batch, const ops::TextTables& texts) const {
  const std::vector<int64_t> types = batch.types.empty() ? std::vector<int64_t>(batch.ids.size()) : batch.types;
  const auto on_device = [&](const std::vector<int64_t>& values) { return at::tensor(values, at::kLong).to(device_); };
  Rows rows = {words_VD_.index_select(0, on_device(batch.ids)).to(at::kFloat), {}};
  rows.exact_TD.add_(types_YD_.index_select(0, on_device(types)));
  rows.exact_TD.add_(positions_PD_.index_select(0, texts.position_T + config_.position_offset));
  add_norm(rows, {}, embedding_norm_);
  return rows;
}

void GpuEncoder::add_norm(Rows& rows, const at::Tensor& added_TD, const Affine& norm) const {
  rows.rounded_TD = ops::gpu_add_layer_norm(rows.exact_TD, added_TD, norm.weight, norm.bias, config_.layer_norm_eps);
}

void GpuEncoder::run_layer(const Layer& layer, Rows& rows, const ops::TextTables& texts) const {
  const at::Tensor heads = linear(rows.rounded_TD, layer.query_key_value);
  const at::Tensor mixed = ops::gpu_text_attention(heads, texts, config_.num_heads);
  add_norm(rows, linear(mixed, layer.attention_out), layer.attention_norm);
  const at::Tensor inner_TI = linear(rows.rounded_TD, layer.inner);
  ops::gpu_gelu(inner_TI);
  add_norm(rows, linear(inner_TI, layer.outer), layer.out_norm);
}

at::Tensor GpuEncoder::pool(const Rows& rows, const ops::TextTables& texts) const {
  if (pooling_ != Pooling::kScore) return ops::gpu_pool(rows.exact_TD, texts, pool_kind(pooling_), is_normalised_);
  const at::Tensor first_SD = ops::gpu_pool(rows.exact_TD, texts, cuda::PoolKind::kFirst, false).to(at::kBFloat16);
  const at::Tensor dense_SD = exact_linear(first_SD, classifier_dense_).tanh_().to(at::kBFloat16);
  return exact_linear(dense_SD, classifier_out_);
}

}  // namespace seekrl::model
