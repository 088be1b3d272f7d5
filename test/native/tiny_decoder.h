// A decoder of two layers for tests.
#pragma once

#include <memory>

#include "model/decoder.h"

namespace seekrl::test {

inline std::shared_ptr<model::Decoder> tiny_decoder(at::ScalarType dtype, uint64_t seed = 3) {
  model::DecoderConfig config;
  config.vocab_size = 23;
  config.hidden_size = 16;
  config.intermediate_size = 12;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 4;
  config.qkv_bias = true;
  auto decoder = std::make_shared<model::Decoder>(config, dtype, at::kCPU);
  decoder->initialise(seed, 0.3);
  return decoder;
}

}  // namespace seekrl::test
