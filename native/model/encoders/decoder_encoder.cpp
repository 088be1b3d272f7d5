// Spans of one packed forward; of the last layer only the rows that pooling reads.
#include "model/encoders/decoder_encoder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include "base/error.h"
#include "model/check_ids.h"

namespace seekrl::model {

namespace {

at::Tensor to_tensor(const std::vector<int64_t>& values) { return at::tensor(values, at::kLong); }

}  // namespace

DecoderEncoder::DecoderEncoder(std::shared_ptr<Decoder> decoder, Pooling pooling, bool is_normalised)
    : decoder_(std::move(decoder)), pooling_(pooling), is_normalised_(is_normalised) {
  require(pooling != Pooling::kScore, ErrorCode::kArgument, "encoder: a decoder has no classifier");
}

int64_t DecoderEncoder::dim() const { return decoder_->config().hidden_size; }

void DecoderEncoder::encode(const TextBatch& batch, float* out, int /*num_helpers*/) const {
  model::check(batch);
  const at::NoGradGuard no_grad;
  const int64_t width = dim(), num_texts = batch.num_texts();
  check_ids(batch.ids, decoder_->config().vocab_size, "encoder: ids");
  std::vector<int64_t> rows;
  for (int64_t text = 0; text < num_texts; ++text) {
    rows.push_back(pooling_ == Pooling::kLast ? batch.starts[text + 1] - 1 : batch.starts[text]);
  }
  const ops::Spans spans = {batch.starts, {}};
  SpanAttention attention(spans, decoder_->dtype());
  const at::Device device = decoder_->device();
  const at::Tensor kept = pooling_ == Pooling::kMean ? at::Tensor() : to_tensor(rows).to(device);
  const std::lock_guard turn(turn_);
  const at::Tensor hidden =
      decoder_->forward(to_tensor(batch.ids).to(device), to_tensor(ops::positions(spans)).to(device), attention, kept)
          .to(at::kCPU, at::kFloat)
          .contiguous();
  const float* from = hidden.const_data_ptr<float>();
  for (int64_t text = 0; text < num_texts; ++text) {
    const bool is_mean = pooling_ == Pooling::kMean;
    pool_rows(out + text * width, from + (is_mean ? batch.starts[text] : text) * width,
              is_mean ? batch.length(text) : 1, width, pooling_);
    if (is_normalised_) normalise(out + text * width, width);
  }
}

}  // namespace seekrl::model
