// The BERT and XLM-RoBERTa families on a GPU: weights and the factors of products in bf16, rows between layers in f32.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "model/encoders/encoder_weights.h"
#include "model/encoders/text_encoder.h"
#include "ops/gpu/encoder_rows.h"

namespace seekrl::model {

// All of it belongs to the device's thread.
class GpuEncoder : public TextEncoder {
 public:
  // ERR_ARGUMENT for heads or widths that the kernels do not have. dtype: bf16, or ERR_DTYPE.
  GpuEncoder(const EncoderConfig& config, at::ScalarType dtype, at::Device device, Pooling pooling, bool is_normalised,
             const std::vector<StoredTensor>& stored);

  int64_t dim() const override { return pooling_ == Pooling::kScore ? 1 : config_.hidden_size; }
  bool is_concurrent() const override { return false; }
  bool is_on_gpu() const override { return true; }
  // num_helpers is not heeded: the GPU does the work.
  void encode(const TextBatch& batch, float* out, int num_helpers) const override;

 private:
  struct Layer {
    Affine query_key_value, attention_out, attention_norm, inner, outer, out_norm;
  };
  struct Rows {
    at::Tensor exact_TD, rounded_TD;  // f32, and as the next product takes them
  };

  Layer laid_out(const StoredEncoderLayer& stored) const;
  Affine on_gpu(const Affine& stored) const;
  // Of a norm, whose numbers the kernels take in f32.
  Affine norm_on_gpu(const Affine& stored) const;
  Rows embed(const TextBatch& batch, const ops::TextTables& texts) const;
  void add_norm(Rows& rows, const at::Tensor& added_TD, const Affine& norm) const;
  void run_layer(const Layer& layer, Rows& rows, const ops::TextTables& texts) const;
  at::Tensor pool(const Rows& rows, const ops::TextTables& texts) const;

  EncoderConfig config_;
  at::Device device_;
  Pooling pooling_;
  bool is_normalised_;
  at::Tensor words_VD_, positions_PD_, types_YD_;
  Affine embedding_norm_, classifier_dense_, classifier_out_;
  std::vector<Layer> layers_;
};

}  // namespace seekrl::model
