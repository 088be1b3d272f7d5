// What an encoder of the BERT and XLM-RoBERTa families is, and its weights before they are laid out for a device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "model/encoders/text_encoder.h"
#include "model/weights.h"

namespace seekrl::model {

struct EncoderConfig {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;        // D
  int64_t intermediate_size = 0;  // I
  int64_t num_layers = 0;
  int64_t num_heads = 0;        // H; D = H C
  int64_t num_positions = 0;    // rows of the position table
  int64_t position_offset = 0;  // of a text's first token: 0 for BERT, padding id + 1 for RoBERTa
  int64_t num_types = 0;        // segments
  double layer_norm_eps = 1e-12;
  bool has_classifier = false;  // dense, tanh, one output, over a text's first token
};

// A weight and the bias that goes with it.
struct Affine {
  at::Tensor weight, bias;
};

struct StoredEncoderLayer {
  std::string name;
  Affine query, key, value, attention_out, attention_norm, inner, outer, out_norm;
};

struct EncoderWeights {
  at::Tensor words_VD, positions_PD, types_YD;
  Affine embedding_norm;
  std::deque<StoredEncoderLayer> layers;
  Affine classifier_dense, classifier_out;  // undefined without a classifier
};

// `stored` has the names of BertModel; the classifier's are classifier.dense and classifier.out, each .weight and
// .bias. Tensors are on the CPU and the caller's alone.
EncoderWeights read_encoder(const EncoderConfig& config, at::ScalarType dtype, at::ScalarType layer_dtype,
                            const std::vector<StoredTensor>& stored);

// check(batch), and ERR_RANGE for an id, a segment or a length that the model does not have.
void check_texts(const TextBatch& batch, const EncoderConfig& config);

}  // namespace seekrl::model
