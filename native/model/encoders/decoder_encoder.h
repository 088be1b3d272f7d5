// A decoder that embeds texts, such as Qwen3-Embedding: the forward of generation, then pooling.
#pragma once

#include <memory>
#include <mutex>

#include "model/decoder.h"
#include "model/encoders/text_encoder.h"

namespace seekrl::model {

// A decoder belongs to one thread at a time (its table of angles grows), so calls from several take turns.
class DecoderEncoder : public TextEncoder {
 public:
  DecoderEncoder(std::shared_ptr<Decoder> decoder, Pooling pooling, bool is_normalised);

  int64_t dim() const override;
  bool is_concurrent() const override { return false; }
  bool is_on_gpu() const override { return !decoder_->device().is_cpu(); }
  // num_helpers is not heeded: the decoder's ops use all of ATen's threads.
  void encode(const TextBatch& batch, float* out, int num_helpers) const override;

 private:
  std::shared_ptr<Decoder> decoder_;
  mutable std::mutex turn_;
  Pooling pooling_;
  bool is_normalised_;
};

}  // namespace seekrl::model
