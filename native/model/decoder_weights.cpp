// The list of a decoder's weights: their names and shapes, what they begin as, and which are quantised.
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "model/decoder.h"
#include "model/stored/parameter_memory.h"
#include "model/stored/stored_weights.h"
#include "ops/parallel.h"
#include "ops/weight_memory.h"

namespace seekrl::model {

namespace {

// Far beyond any model, and small enough that no product of two overflows.
constexpr int64_t kLargestSize = int64_t{1} << 31;

void check(const DecoderConfig& config) {
  for (const int64_t size : {config.vocab_size, config.hidden_size, config.intermediate_size, config.num_layers,
                             config.num_heads, config.num_kv_heads, config.head_dim}) {
    require(size <= kLargestSize, ErrorCode::kArgument, "decoder: expected sizes up to ", kLargestSize, ", got ", size);
  }
  const bool is_positive = config.vocab_size > 0 && config.hidden_size > 0 && config.intermediate_size > 0 &&
                           config.num_layers > 0 && config.num_heads > 0 && config.num_kv_heads > 0;
  require(is_positive, ErrorCode::kArgument, "decoder: every size must be positive");
  require(config.num_heads * config.head_dim <= kLargestSize, ErrorCode::kArgument, "decoder: ", config.num_heads,
          " heads of width ", config.head_dim, " are too wide");
  require(config.num_heads % config.num_kv_heads == 0, ErrorCode::kArgument, "decoder: ", config.num_kv_heads,
          " key heads do not divide ", config.num_heads, " query heads");
  require(config.head_dim > 0 && config.head_dim % 2 == 0, ErrorCode::kArgument,
          "decoder: head width: expected an even number, got ", config.head_dim);
  require(config.num_experts == 0 || (config.num_chosen_experts > 0 && config.num_chosen_experts <= config.num_experts),
          ErrorCode::kArgument, "decoder: expected 1 to ", config.num_experts, " experts for a token, got ",
          config.num_chosen_experts);
  const bool has_types =
      config.layer_types.empty() || config.layer_types.size() == static_cast<size_t>(config.num_layers);
  require(has_types, ErrorCode::kArgument, "decoder: expected ", config.num_layers, " layer types, got ",
          config.layer_types.size());
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

kernels::ScoreRule score_rule(const DecoderConfig& config, LayerType type) {
  const double scale =
      config.attention_scale > 0 ? config.attention_scale : 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  return {static_cast<float>(scale), static_cast<float>(config.attention_softcap),
          type == LayerType::kSliding ? config.sliding_window : 0};
}

// Standard normals of the generator's stream `stream`, f32. Each has its place in the stream, so that threads share
// them.
at::Tensor normals(at::IntArrayRef shape, uint64_t seed, uint64_t stream) {
  constexpr int64_t kPiece = 1 << 16;  // even, so that a pair lies in one
  constexpr int64_t kWork = 64;        // of a number, in multiply-adds
  at::Tensor drawn = at::empty(shape, at::kFloat);
  float* const values = drawn.mutable_data_ptr<float>();
  const int64_t count = drawn.numel();
  ops::claim_items((count + kPiece - 1) / kPiece, kWork * count, [&](int64_t piece) {
    const int64_t end = std::min(count, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; i += 2) {
      const auto [first, second] = normal_pair(seed, stream, static_cast<uint64_t>(i / 2));
      values[i] = static_cast<float>(first);
      if (i + 1 < count) values[i + 1] = static_cast<float>(second);
    }
  });
  return drawn;
}

}  // namespace

Decoder::Decoder(DecoderConfig config, at::ScalarType dtype, at::Device device, QuantOf quant_of, const Expect& expect,
                 std::shared_ptr<comm::ProcessGroup> group, bool is_unread)
    : config_(std::move(config)),
      dtype_(dtype),
      device_(device),
      is_unread_(is_unread),
      quant_of_(std::move(quant_of)) {
  check(config_);
  parallel_ = TensorParallel(std::move(group), config_);
  own_config_ = parallel_.own(config_);
  require(!parallel_.is_split() || device.is_cpu() || own_config_.intermediate_size % 8 == 0, ErrorCode::kArgument,
          "tensorParallel: ", parallel_.size(),
          " GPUs: expected feed-forward channels in slices of a multiple of 8, got ", own_config_.intermediate_size,
          " a rank; take fewer ranks");
  require(device.is_cpu() || c10::isReducedFloatingType(dtype), ErrorCode::kDtype,
          "dtype: expected bfloat16, of which a GPU's kernels are, got float32");
  embedding_VD_ = add("model.embed_tokens.weight", {config_.vocab_size, config_.hidden_size}, expect,
                      parallel_.rows(config_.vocab_size));
  for (int64_t index = 0; index < config_.num_layers; ++index) layers_.push_back(add_layer(index, expect));
  norm_D_ = add("model.norm.weight", {config_.hidden_size}, expect);
  head_VD_ = add_head(expect);
  rope_table_ = RopeTable(config_.rope, config_.head_dim, device_);
  if (config_.sliding_rope) sliding_rope_table_ = RopeTable(*config_.sliding_rope, config_.head_dim, device_);
}

at::Tensor Decoder::add(const std::string& name, at::IntArrayRef shape, const Expect& expect, const Slice& slice) {
  if (expect) expect(name, shape);
  std::vector<int64_t> own = shape.vec();
  if (!slice.is_all()) {
    own[static_cast<size_t>(slice.dim)] = slice.count;
    slices_.emplace(name, slice);
  }
  const auto options = at::TensorOptions(device_).dtype(dtype_);
  parameters_.push_back({name, is_unread_ ? without_memory(own, options) : ops::zero_weight(own, options)});
  return parameters_.back().value;
}

ops::Weight Decoder::add_weight(const std::string& name, int64_t n, int64_t k, const Expect& expect,
                                const Slice& slice) {
  const auto kind = quant_of_ ? quant_of_(name) : std::nullopt;
  if (!kind) return add(name, {n, k}, expect, slice);
  if (expect) expect(name, {n, k});
  if (slice.is_all()) return add_quant(name, *kind, n, k);
  slices_.emplace(name, slice);
  return slice.dim == 0 ? add_quant(name, *kind, slice.count, k) : add_quant(name, *kind, n, slice.count);
}

ops::Weight Decoder::add_quant(const std::string& name, ops::QuantKind kind, int64_t n, int64_t k) {
  quantised_.push_back({name, ops::QuantWeight(kind, n, k, device_), parameters_.size() + quantised_.size()});
  return quantised_.back().value;
}

ops::Weight Decoder::add_head(const Expect& expect) {
  const std::string name = "lm_head.weight";
  const int64_t vocab_size = config_.vocab_size, width = config_.hidden_size;
  const Slice slice = parallel_.rows(vocab_size);
  if (!config_.tie_embeddings) return add_weight(name, vocab_size, width, expect, slice);
  const auto kind = quant_of_ ? quant_of_(name) : std::nullopt;
  if (!kind) return embedding_VD_;
  if (slice.is_all()) return add_quant(name, *kind, vocab_size, width);
  slices_.emplace(name, slice);
  return add_quant(name, *kind, slice.count, width);
}

Decoder::Layer Decoder::add_layer(int64_t index, const Expect& expect) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const int64_t width = config_.hidden_size, inner = config_.intermediate_size;
  const int64_t query_width = config_.num_heads * config_.head_dim, key_width = config_.num_kv_heads * config_.head_dim;
  const auto vector = [&](const std::string& name, int64_t size, bool exists, const Slice& slice = {}) {
    return exists ? add(prefix + name, {size}, expect, slice) : at::Tensor();
  };
  const auto split = [&](const std::string& name, int64_t rows, int64_t columns, bool has_bias, const Slice& slice) {
    const ops::Weight weight_NK = add_weight(prefix + name + ".weight", rows, columns, expect, slice);
    projections_.push_back({prefix + name, rows, columns, slice});
    const Slice bias = slice.dim == 0 ? slice : Slice();
    return Projection{weight_NK, vector(name + ".bias", rows, has_bias, bias),
                      static_cast<int64_t>(projections_.size()) - 1};
  };
  const auto projection = [&](const std::string& name, int64_t rows, int64_t columns, bool has_bias) {
    return split(name, rows, columns, has_bias, parallel_.rows(rows));
  };
  const auto back = [&](const std::string& name, int64_t rows, int64_t columns, bool has_bias) {
    return split(name, rows, columns, has_bias, parallel_.columns(columns));
  };
  const bool qkv_bias = config_.qkv_bias || config_.attention_bias;
  Layer layer;
  if (!config_.layer_types.empty()) layer.type = config_.layer_types[index];
  layer.rule = score_rule(config_, layer.type);
  layer.attention_norm_D = vector("input_layernorm.weight", width, true);
  layer.q = projection("self_attn.q_proj", query_width, width, qkv_bias);
  layer.k = projection("self_attn.k_proj", key_width, width, qkv_bias);
  layer.v = projection("self_attn.v_proj", key_width, width, qkv_bias);
  layer.o = back("self_attn.o_proj", width, query_width, config_.attention_bias);
  layer.q_norm_C = vector("self_attn.q_norm.weight", config_.head_dim, config_.qk_norm);
  layer.k_norm_C = vector("self_attn.k_norm.weight", config_.head_dim, config_.qk_norm);
  layer.attention_post_norm_D = vector("post_attention_layernorm.weight", width, config_.post_norms);
  layer.mlp_norm_D =
      vector(config_.post_norms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight", width, true);
  layer.mlp_post_norm_D = vector("post_feedforward_layernorm.weight", width, config_.post_norms);
  if (config_.num_experts > 0) {
    layer.experts = add_experts(prefix, expect);
    return layer;
  }
  layer.feed_forward.gate = projection("mlp.gate_proj", inner, width, config_.mlp_bias);
  layer.feed_forward.up = projection("mlp.up_proj", inner, width, config_.mlp_bias);
  layer.feed_forward.down = back("mlp.down_proj", width, inner, config_.mlp_bias);
  return layer;
}

Experts Decoder::add_experts(const std::string& prefix, const Expect& expect) {
  const int64_t width = config_.hidden_size, inner = config_.intermediate_size;
  const bool is_mixtral = config_.has_mixtral_names;
  const std::string block = prefix + (is_mixtral ? "block_sparse_moe." : "mlp.");
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t columns, const Slice& slice) {
    const ops::Weight weight_NK = add_weight(block + name + ".weight", rows, columns, expect, slice);
    projections_.push_back({block + name, rows, columns, slice});
    return Projection{weight_NK, {}, static_cast<int64_t>(projections_.size()) - 1};
  };
  Experts experts;
  // Never quantised: which experts are chosen hangs on it.
  experts.router = {add(block + "gate.weight", {config_.num_experts, width}, expect), {}};
  experts.num_chosen = config_.num_chosen_experts;
  experts.is_normalised = config_.has_normalised_experts;
  for (int64_t e = 0; e < config_.num_experts; ++e) {
    const std::string expert = "experts." + std::to_string(e) + ".";
    FeedForward network;
    network.gate = matrix(expert + (is_mixtral ? "w1" : "gate_proj"), inner, width, parallel_.rows(inner));
    network.up = matrix(expert + (is_mixtral ? "w3" : "up_proj"), inner, width, parallel_.rows(inner));
    network.down = matrix(expert + (is_mixtral ? "w2" : "down_proj"), width, inner, parallel_.columns(inner));
    experts.all.push_back(std::move(network));
  }
  return experts;
}

void Decoder::initialise(uint64_t seed, double std) {
  at::NoGradGuard no_grad;
  // A weight's stream is its place: quantised or not, whole or split, the same seed draws the same numbers.
  size_t place = 0;
  const auto drawn = [&](const std::string& name, at::IntArrayRef own) {
    const Slice slice = slice_of(name);
    if (slice.is_all()) return normals(own, seed, place).mul_(std);
    std::vector<int64_t> whole = own.vec();
    whole[static_cast<size_t>(slice.dim)] = slice.whole;
    return normals(whole, seed, place).mul_(std).narrow(slice.dim, slice.first, slice.count).contiguous();
  };
  auto next_quant = quantised_.begin();
  const auto draw_quantised = [&] {
    for (; next_quant != quantised_.end() && next_quant->place == place; ++next_quant, ++place) {
      const bool is_tied = config_.tie_embeddings && next_quant->name == "lm_head.weight";
      ops::QuantWeight& value = next_quant->value;
      ops::quantise(value, next_quant->name, is_tied ? embedding_VD_ : drawn(next_quant->name, {value.n(), value.k()}));
    }
  };
  for (auto& [name, value] : parameters_) {
    draw_quantised();
    if (value.dim() == 2) {
      value.copy_(drawn(name, value.sizes()));
    } else {
      value.fill_(ends_with(name, "norm.weight") ? 1.0 - config_.norm_offset : 0.0);
    }
    ++place;
  }
  draw_quantised();
  weights_changed();
}

template <class AnyLayer>
auto Decoder::projections_of(AnyLayer& layer) {
  std::vector<decltype(&layer.q)> all = {&layer.q, &layer.k, &layer.v, &layer.o};
  const auto add_network = [&](auto& network) {
    for (auto* part : {&network.gate, &network.up, &network.down}) all.push_back(part);
  };
  if (layer.experts.all.empty()) add_network(layer.feed_forward);
  for (auto& expert : layer.experts.all) add_network(expert);
  return all;
}

void Decoder::share_quantised(const Decoder& from) {
  quantised_ = from.quantised_;
  if (from.head_VD_.is_quant()) head_VD_ = from.head_VD_;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::vector<Projection*> to = projections_of(layers_[i]);
    const std::vector<const Projection*> parts = projections_of(from.layers_[i]);
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p]->weight_NK.is_quant()) to[p]->weight_NK = parts[p]->weight_NK;
    }
  }
}

Slice Decoder::slice_of(const std::string& name) const {
  const auto found = slices_.find(name);
  return found == slices_.end() ? Slice() : found->second;
}

at::Tensor Decoder::parameter(const std::string& name) const {
  return parallel_.joined(own_parameter(name), slice_of(name), name);
}

at::Tensor Decoder::own_parameter(const std::string& name) const {
  need_whole();
  for (const Parameter& parameter : parameters_) {
    if (parameter.name == name) return parameter.value;
  }
  for (const QuantParameter& parameter : quantised_) {
    if (parameter.name == name) return parameter.value.to_float();
  }
  fail(ErrorCode::kArgument, "parameter: no weight is called ", name);
}

void Decoder::read_unread() const {
  if (stored_ == nullptr || is_taken_) return;
  read_but({});
  stored_ = nullptr;
}

std::shared_ptr<const StoredWeights> Decoder::take_unread(const std::vector<Parameter>& taken) {
  if (stored_ == nullptr || is_taken_) return nullptr;
  read_but(taken);
  is_taken_ = true;
  return stored_;
}

// Of what is unread all but these.
void Decoder::read_but(const std::vector<Parameter>& taken) const {
  const at::NoGradGuard no_grad;
  for (const auto& [name, value] : parameters_) {
    const auto is_same = [&name = name](const Parameter& each) { return each.name == name; };
    if (std::any_of(taken.begin(), taken.end(), is_same)) continue;
    const at::Tensor whole = at::empty(value.sizes(), value.options().requires_grad(false));
    stored_->read(name, whole);
    set_memory(value, whole);
  }
}

Decoder::QuantOf quant_all(std::optional<ops::QuantKind> kind) {
  if (!kind) return {};
  return [kind](const std::string& name) { return name == "lm_head.weight" ? ops::QuantKind::kInt8 : kind; };
}

}  // namespace seekrl::model
