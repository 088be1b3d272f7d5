// A decoder that embeds texts, such as Qwen3-Embedding: the forward of generation, then pooling.
#pragma once

#include <memory>

#include "model/decoder.h"
#include "model/text_encoder.h"

namespace seekrl::model {

// One thread at a time: the decoder's table of angles grows.
class DecoderEncoder : public TextEncoder {
 public:
  DecoderEncoder(std::shared_ptr<Decoder> decoder, Pooling pooling, bool is_normalised);

  int64_t dim() const override;
  bool is_concurrent() const override { return false; }
  // num_helpers is not heeded: the decoder's ops use all of ATen's threads.
  void encode(const TextBatch& batch, float* out, int num_helpers) const override;

 private:
  std::shared_ptr<Decoder> decoder_;
  Pooling pooling_;
  bool is_normalised_;
};

}  // namespace seekrl::model
