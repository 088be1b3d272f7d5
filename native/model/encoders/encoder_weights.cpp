// Every tensor is looked for before memory is taken, then all are read at once.
#include "model/encoders/encoder_weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "base/error.h"
#include "model/check_ids.h"

namespace seekrl::model {

namespace {

// Tensors by name while the weights are read.
class Reader {
 public:
  explicit Reader(const std::vector<StoredTensor>& stored) : stored_(stored), by_name_(by_name(stored)) {}

  // Of what is added from here on.
  void set_dtype(at::ScalarType dtype) { dtype_ = dtype; }
  at::Tensor add(const std::string& name, at::IntArrayRef shape) {
    find_tensor(by_name_, name, shape);
    wanted_.push_back({name, at::empty(shape, at::TensorOptions().dtype(dtype_))});
    return wanted_.back().value;
  }
  Affine affine(const std::string& name, int64_t n, int64_t k) {
    return {add(name + ".weight", {n, k}), add(name + ".bias", {n})};
  }
  Affine norm(const std::string& name, int64_t d) { return {add(name + ".weight", {d}), add(name + ".bias", {d})}; }
  // Tensors are then the caller's alone.
  void read() {
    read_tensors(wanted_, stored_, true);
    wanted_.clear();
  }

 private:
  at::ScalarType dtype_ = at::kFloat;
  const std::vector<StoredTensor>& stored_;
  TensorsByName by_name_;
  std::vector<Parameter> wanted_;
};

StoredEncoderLayer layer(Reader& reader, const std::string& name, int64_t width, int64_t inner_width) {
  return {.name = name,
          .query = reader.affine(name + "attention.self.query", width, width),
          .key = reader.affine(name + "attention.self.key", width, width),
          .value = reader.affine(name + "attention.self.value", width, width),
          .attention_out = reader.affine(name + "attention.output.dense", width, width),
          .attention_norm = reader.norm(name + "attention.output.LayerNorm", width),
          .inner = reader.affine(name + "intermediate.dense", inner_width, width),
          .outer = reader.affine(name + "output.dense", width, inner_width),
          .out_norm = reader.norm(name + "output.LayerNorm", width)};
}

void check(const EncoderConfig& config) {
  const bool is_positive = config.vocab_size > 0 && config.hidden_size > 0 && config.intermediate_size > 0 &&
                           config.num_layers > 0 && config.num_heads > 0 && config.num_types > 0;
  require(is_positive, ErrorCode::kArgument, "encoder: every size must be positive");
  require(config.hidden_size % config.num_heads == 0, ErrorCode::kArgument, "encoder: ", config.num_heads,
          " heads do not divide the width ", config.hidden_size);
  require(config.num_positions > config.position_offset, ErrorCode::kArgument, "encoder: ", config.num_positions,
          " positions leave none after the first ", config.position_offset);
}

}  // namespace

EncoderWeights read_encoder(const EncoderConfig& config, at::ScalarType dtype, at::ScalarType layer_dtype,
                            const std::vector<StoredTensor>& stored) {
  check(config);
  const int64_t width = config.hidden_size;
  Reader reader(stored);
  EncoderWeights weights;
  reader.set_dtype(dtype);
  weights.words_VD = reader.add("embeddings.word_embeddings.weight", {config.vocab_size, width});
  weights.positions_PD = reader.add("embeddings.position_embeddings.weight", {config.num_positions, width});
  weights.types_YD = reader.add("embeddings.token_type_embeddings.weight", {config.num_types, width});
  weights.embedding_norm = reader.norm("embeddings.LayerNorm", width);
  reader.set_dtype(layer_dtype);
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::string name = "encoder.layer." + std::to_string(i) + ".";
    weights.layers.push_back(layer(reader, name, width, config.intermediate_size));
  }
  reader.set_dtype(dtype);
  if (config.has_classifier) {
    weights.classifier_dense = reader.affine("classifier.dense", width, width);
    weights.classifier_out = reader.affine("classifier.out", 1, width);
  }
  reader.read();
  return weights;
}

void check_texts(const TextBatch& batch, const EncoderConfig& config) {
  check(batch);
  check_ids(batch.ids, config.vocab_size, "encoder: ids");
  const int64_t most = config.num_positions - config.position_offset;
  for (int64_t text = 0; text < batch.num_texts(); ++text) {
    require(batch.length(text) <= most, ErrorCode::kRange, "encoder: a text of ", batch.length(text),
            " tokens; the model has positions for ", most);
  }
  for (const int64_t type : batch.types) {
    require(type >= 0 && type < config.num_types, ErrorCode::kRange, "encoder: expected types below ", config.num_types,
            ", got ", type);
  }
}

}  // namespace seekrl::model
