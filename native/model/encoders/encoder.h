// The BERT and XLM-RoBERTa families over packed texts on the CPU: embeddings and rankings.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/encoders/encoder_weights.h"
#include "model/encoders/text_encoder.h"
#include "ops/products/packed_linear.h"
#include "ops/quant/quant_weight.h"

namespace seekrl::model {

// Weights are read once, laid out for the product and never change; any number of threads may encode at once.
class Encoder : public TextEncoder {
 public:
  // dtype: f32, or bf16 for weights and the factors of products and attention, while sums and norms stay f32;
  // kInt8 takes its place in the layers' weights, the tables keep it.
  Encoder(const EncoderConfig& config, at::ScalarType dtype, std::optional<ops::QuantKind> kind, Pooling pooling,
          bool is_normalised, const std::vector<StoredTensor>& stored);

  int64_t dim() const override { return pooling_ == Pooling::kScore ? 1 : config_.hidden_size; }
  bool is_concurrent() const override { return true; }
  void encode(const TextBatch& batch, float* out, int num_helpers) const override;

 private:
  struct Norm {
    std::vector<float> weight, bias;
  };
  struct Layer {
    ops::PackedLinear query_key_value, attention_out, inner, outer;
    Norm attention_norm, out_norm;
  };
  struct Work;

  static Layer laid_out(const StoredEncoderLayer& stored, std::optional<ops::QuantKind> kind);
  void embed(const TextBatch& batch, Work& work) const;
  void attend(const TextBatch& batch, Work& work) const;
  void run_layer(const Layer& layer, const TextBatch& batch, Work& work) const;
  void pool(const TextBatch& batch, Work& work, float* out) const;
  void add_norm(float* y_TD, const float* x_TD, const float* residual_TD, const Norm& norm, Work& work) const;

  EncoderConfig config_;
  Pooling pooling_;
  bool is_normalised_;
  bool is_rounded_;  // attention's factors, to bf16
  at::Tensor words_VD_, positions_PD_, types_YD_;
  Norm embedding_norm_;
  std::vector<Layer> layers_;
  ops::PackedLinear classifier_dense_, classifier_out_;
};

}  // namespace seekrl::model
