// The forward pass over packed texts, kernel by kernel.
#include "model/encoders/encoder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/attention.h"
#include "kernels/products/bf16.h"
#include "kernels/rows.h"
#include "ops/parallel.h"
#include "ops/scratch.h"

namespace seekrl::model {

namespace {

constexpr int64_t kBlockRows = 64;

std::vector<float> floats_of(const at::Tensor& values) {
  const at::Tensor wide = values.to(at::kFloat).contiguous();
  return {wide.const_data_ptr<float>(), wide.const_data_ptr<float>() + wide.numel()};
}

// y += table[row], D values of f32 or bf16.
void add_row(float* y, const at::Tensor& table_ND, int64_t row) {
  const int64_t d = table_ND.size(1);
  if (table_ND.scalar_type() == at::kFloat) {
    const float* from = table_ND.const_data_ptr<float>() + row * d;
    for (int64_t i = 0; i < d; ++i) y[i] += from[i];
    return;
  }
  const auto* from = static_cast<const uint16_t*>(table_ND.const_data_ptr()) + row * d;
  for (int64_t i = 0; i < d; ++i) y[i] += kernels::from_bf16(from[i]);
}

// attend with factors of bf16.
void attend_paired(const kernels::QueryRows& rows, const kernels::KeyValues& source, int64_t head_dim, float scale,
                   float* scratch) {
  constexpr int64_t kBlockTokens = 64;
  const int64_t block_size = kBlockTokens * head_dim, size = (rows.num_keys / kBlockTokens + 1) * block_size;
  uint16_t *const keys = ops::scratch<uint16_t, ops::Scratch::kKeys>(size),
                  *const values = ops::scratch<uint16_t, ops::Scratch::kValues>(size);
  for (int64_t token = 0; token < rows.num_keys; ++token) {
    const int64_t block = token / kBlockTokens * block_size, from = token * source.token_stride;
    kernels::put_paired(keys + block, values + block, kBlockTokens, token % kBlockTokens, source.keys + from,
                        source.values + from, head_dim);
  }
  kernels::attend_bf16(rows, {keys, values, nullptr, kBlockTokens, block_size}, head_dim, {scale}, nullptr, scratch);
}

}  // namespace

// Activations of one batch. A thread keeps them for its next one, unless they are those of uncommonly long texts.
struct Encoder::Work {
  int64_t num_tokens = 0;
  int num_helpers = 0;
  std::vector<float> x_TD, mixed_TD, query_key_value, inner_TI;

  void fit(const EncoderConfig& config, int64_t tokens) {
    num_tokens = tokens;
    const auto grow = [&](std::vector<float>& values, int64_t width) {
      const auto size = static_cast<size_t>(tokens * width);
      if (values.size() < size) values.resize(size);
    };
    grow(x_TD, config.hidden_size);
    grow(mixed_TD, config.hidden_size);
    grow(query_key_value, 3 * config.hidden_size);
    grow(inner_TI, config.intermediate_size);
  }
  bool is_large() const { return inner_TI.size() > size_t{1} << 23; }
};

Encoder::Layer Encoder::laid_out(const StoredEncoderLayer& stored, std::optional<ops::QuantKind> kind) {
  const auto linear = [&](const Affine& affine, const char* part) {
    if (!kind) return ops::PackedLinear(affine.weight, affine.bias);
    ops::QuantWeight weight(*kind, affine.weight.size(0), affine.weight.size(1));
    ops::quantise(weight, stored.name + part, affine.weight);
    return ops::PackedLinear(weight, affine.bias);
  };
  const auto norm = [](const Affine& affine) { return Norm{floats_of(affine.weight), floats_of(affine.bias)}; };
  return {linear({at::cat({stored.query.weight, stored.key.weight, stored.value.weight}),
                  at::cat({stored.query.bias, stored.key.bias, stored.value.bias})},
                 "attention.self"),
          linear(stored.attention_out, "attention.output.dense"),
          linear(stored.inner, "intermediate.dense"),
          linear(stored.outer, "output.dense"),
          norm(stored.attention_norm),
          norm(stored.out_norm)};
}

Encoder::Encoder(const EncoderConfig& config, at::ScalarType dtype, std::optional<ops::QuantKind> kind, Pooling pooling,
                 bool is_normalised, const std::vector<StoredTensor>& stored)
    : config_(config),
      pooling_(pooling),
      is_normalised_(is_normalised),
      is_rounded_(dtype == at::kBFloat16 || kind.has_value()) {
  at::NoGradGuard no_grad;
  // Codes are of the numbers as stored.
  EncoderWeights weights = read_encoder(config, dtype, kind ? at::kFloat : dtype, stored);
  words_VD_ = weights.words_VD;
  positions_PD_ = weights.positions_PD;
  types_YD_ = weights.types_YD;
  embedding_norm_ = {floats_of(weights.embedding_norm.weight), floats_of(weights.embedding_norm.bias)};
  for (; !weights.layers.empty(); weights.layers.pop_front()) layers_.push_back(laid_out(weights.layers.front(), kind));
  if (!config.has_classifier) return;
  classifier_dense_ = ops::PackedLinear(weights.classifier_dense.weight, weights.classifier_dense.bias);
  classifier_out_ = ops::PackedLinear(weights.classifier_out.weight, weights.classifier_out.bias);
}

void Encoder::encode(const TextBatch& batch, float* out, int num_helpers) const {
  check_texts(batch, config_);
  thread_local Work work;
  work.fit(config_, static_cast<int64_t>(batch.ids.size()));
  work.num_helpers = num_helpers;
  embed(batch, work);
  for (const Layer& layer : layers_) run_layer(layer, batch, work);
  pool(batch, work, out);
  if (work.is_large()) work = Work();
}

void Encoder::embed(const TextBatch& batch, Work& work) const {
  for (int64_t text = 0; text < batch.num_texts(); ++text) {
    for (int64_t t = batch.starts[text]; t < batch.starts[text + 1]; ++t) {
      const int64_t id = batch.ids[t], type = batch.types.empty() ? 0 : batch.types[t];
      float* x = work.x_TD.data() + t * config_.hidden_size;
      std::fill_n(x, config_.hidden_size, 0.0f);
      add_row(x, words_VD_, id);
      add_row(x, types_YD_, type);
      add_row(x, positions_PD_, config_.position_offset + t - batch.starts[text]);
    }
  }
  add_norm(work.x_TD.data(), work.x_TD.data(), nullptr, embedding_norm_, work);
}

void Encoder::add_norm(float* y_TD, const float* x_TD, const float* residual_TD, const Norm& norm, Work& work) const {
  const int64_t d = config_.hidden_size, num_blocks = (work.num_tokens + kBlockRows - 1) / kBlockRows;
  ops::share_items(num_blocks, work.num_helpers, work.num_tokens * d * 4, [&](int64_t block) {
    const int64_t first = block * kBlockRows, rows = std::min(kBlockRows, work.num_tokens - first);
    kernels::add_layer_norm(y_TD + first * d, x_TD + first * d,
                            residual_TD == nullptr ? nullptr : residual_TD + first * d, norm.weight.data(),
                            norm.bias.data(), rows, d, static_cast<float>(config_.layer_norm_eps));
  });
}

// Each text's heads attend over the whole text; the results take the place of the queries.
void Encoder::attend(const TextBatch& batch, Work& work) const {
  const int64_t width = config_.hidden_size, head_dim = width / config_.num_heads, stride = 3 * width;
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  int64_t scores = 0;
  for (int64_t text = 0; text < batch.num_texts(); ++text) scores += batch.length(text) * batch.length(text);
  ops::share_items(batch.num_texts() * config_.num_heads, work.num_helpers, scores * width * 2, [&](int64_t item) {
    const int64_t text = item / config_.num_heads, head = item % config_.num_heads, length = batch.length(text);
    float* query = work.query_key_value.data() + batch.starts[text] * stride + head * head_dim;
    const kernels::QueryRows rows = {query, query, length, 1, stride, head_dim, length, /*is_causal=*/false};
    const kernels::KeyValues source = {query + width, query + 2 * width, nullptr, 0, 0, stride};
    float* const scratch = ops::scratch<float, ops::Scratch::kScores>(kernels::attend_scratch_floats(length, head_dim));
    if (is_rounded_ && head_dim % 2 == 0) return attend_paired(rows, source, head_dim, scale, scratch);
    kernels::attend(rows, source, head_dim, {scale}, nullptr, scratch);
  });
}

void Encoder::run_layer(const Layer& layer, const TextBatch& batch, Work& work) const {
  using ops::Activation;
  const int64_t width = config_.hidden_size, m = work.num_tokens;
  float *x = work.x_TD.data(), *mixed = work.mixed_TD.data(), *heads = work.query_key_value.data();
  layer.query_key_value.apply(heads, 3 * width, x, width, m, Activation::kNone, work.num_helpers);
  attend(batch, work);
  layer.attention_out.apply(mixed, width, heads, 3 * width, m, Activation::kNone, work.num_helpers);
  add_norm(x, mixed, x, layer.attention_norm, work);
  layer.inner.apply_with(layer.outer, mixed, width, x, width, work.inner_TI.data(), m, Activation::kGelu,
                         work.num_helpers);
  add_norm(x, mixed, x, layer.out_norm, work);
}

void Encoder::pool(const TextBatch& batch, Work& work, float* out) const {
  const int64_t width = config_.hidden_size;
  for (int64_t text = 0; text < batch.num_texts(); ++text) {
    const float* first = work.x_TD.data() + batch.starts[text] * width;
    const int64_t length = batch.length(text);
    if (pooling_ == Pooling::kScore) {
      float* dense = work.mixed_TD.data();
      classifier_dense_.apply(dense, width, first, width, 1, ops::Activation::kNone, 0);
      for (int64_t i = 0; i < width; ++i) dense[i] = std::tanh(dense[i]);
      classifier_out_.apply(out + text, 1, dense, width, 1, ops::Activation::kNone, 0);
      continue;
    }
    pool_rows(out + text * width, first, length, width, pooling_);
    if (is_normalised_) normalise(out + text * width, width);
  }
}

}  // namespace seekrl::model
