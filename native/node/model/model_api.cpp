// Models for JavaScript: made, read and written on the device queue.
#include "node/model/model_api.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "follow/follower.h"
#include "model/score.h"
#include "model/weights.h"
#include "node/comm/comm_api.h"
#include "node/guard.h"
#include "node/model/adapter_api.h"
#include "node/tensor_values.h"
#include "node/values.h"
#include "ops/gpu/gpu.h"

namespace seekrl::node {

namespace {

constexpr napi_type_tag kModelTag = {0x6d6f64656c5f6831, 0x7365656b726c0001};

model::RopeScaling rope_scaling(const std::string& kind) {
  if (kind == "linear") return model::RopeScaling::kLinear;
  if (kind == "dynamic") return model::RopeScaling::kDynamic;
  if (kind == "llama3") return model::RopeScaling::kLlama3;
  if (kind == "yarn") return model::RopeScaling::kYarn;
  if (kind == "longrope") return model::RopeScaling::kLongRope;
  return model::RopeScaling::kNone;
}

std::vector<double> rope_factors(const Napi::Value& value) {
  const auto list = value.As<Napi::Array>();
  std::vector<double> values(list.Length());
  for (uint32_t i = 0; i < list.Length(); ++i) values[i] = list.Get(i).ToNumber().DoubleValue();
  return values;
}

// Base, width and scaling of a decoder's positions.
model::RopeConfig to_rope_config(const Napi::Object& object) {
  model::RopeConfig rope;
  rope.theta = number_of(object, "ropeTheta");
  rope.width = integer_of(object, "rotaryDim");
  const Napi::Object scaling = to_object(object.Get("ropeScaling"), "ropeScaling");
  rope.scaling = rope_scaling(text_of(scaling, "kind"));
  const auto is = [&](model::RopeScaling kind) { return rope.scaling == kind; };
  const bool has_original = !is(model::RopeScaling::kNone) && !is(model::RopeScaling::kLinear);
  if (has_original) rope.original_max_position = integer_of(scaling, "originalMaxPosition");
  if (!is(model::RopeScaling::kNone) && !is(model::RopeScaling::kLongRope)) rope.factor = number_of(scaling, "factor");
  if (is(model::RopeScaling::kLlama3)) {
    rope.low_freq_factor = number_of(scaling, "lowFreqFactor");
    rope.high_freq_factor = number_of(scaling, "highFreqFactor");
  }
  if (is(model::RopeScaling::kYarn)) {
    rope.beta_fast = number_of(scaling, "betaFast");
    rope.beta_slow = number_of(scaling, "betaSlow");
    rope.is_truncated = bool_of(scaling, "isTruncated");
  }
  if (is(model::RopeScaling::kYarn) || is(model::RopeScaling::kLongRope)) {
    rope.attention_factor = number_of(scaling, "attentionFactor");
  }
  if (is(model::RopeScaling::kDynamic) || is(model::RopeScaling::kLongRope)) {
    rope.most_positions = integer_of(object, "contextTokens");
  }
  if (is(model::RopeScaling::kLongRope)) {
    const bool is_long = rope.most_positions > rope.original_max_position;
    rope.divisors = rope_factors(scaling.Get(is_long ? "longFactors" : "shortFactors"));
  }
  return rope;
}

model::LayerType to_layer_type(const std::string& type) {
  if (type == "sliding") return model::LayerType::kSliding;
  if (type == "noRope") return model::LayerType::kNoRope;
  return model::LayerType::kFull;
}

}  // namespace

// The object is what lib/model's config.ts checked.
model::DecoderConfig to_decoder_config(const Napi::Object& object) {
  model::DecoderConfig config;
  config.vocab_size = integer_of(object, "vocabSize");
  config.hidden_size = integer_of(object, "hiddenSize");
  config.intermediate_size = integer_of(object, "intermediateSize");
  config.num_layers = integer_of(object, "numLayers");
  config.num_heads = integer_of(object, "numHeads");
  config.num_kv_heads = integer_of(object, "numKvHeads");
  config.head_dim = integer_of(object, "headDim");
  config.rms_norm_eps = number_of(object, "rmsNormEps");
  config.qkv_bias = bool_of(object, "qkvBias");
  config.qk_norm = bool_of(object, "qkNorm");
  config.attention_bias = bool_of(object, "attentionBias");
  config.mlp_bias = bool_of(object, "mlpBias");
  config.tie_embeddings = bool_of(object, "tieEmbeddings");
  config.rope = to_rope_config(object);
  if (object.Get("slidingRopeTheta").IsNumber()) {
    config.sliding_rope.emplace();
    config.sliding_rope->theta = number_of(object, "slidingRopeTheta");
    config.sliding_rope->width = config.rope.width;
  }
  for (const std::string& type : to_texts(object.Get("layerTypes"), "layerTypes")) {
    config.layer_types.push_back(to_layer_type(type));
  }
  config.sliding_window = integer_of(object, "slidingWindow");
  config.attention_scale = number_of(object, "attentionScale");
  config.attention_softcap = number_of(object, "attentionSoftcap");
  config.logit_softcap = number_of(object, "logitSoftcap");
  config.embedding_scale = number_of(object, "embeddingScale");
  config.norm_offset = number_of(object, "normOffset");
  config.post_norms = bool_of(object, "postNorms");
  config.num_experts = integer_of(object, "numExperts");
  config.num_chosen_experts = integer_of(object, "numChosenExperts");
  config.has_normalised_experts = bool_of(object, "hasNormalisedExperts");
  config.has_mixtral_names = text_of(object, "architecture") == "MixtralForCausalLM";
  config.gate = text_of(object, "activation") == "gelu" ? model::Gate::kGelu : model::Gate::kSilu;
  return config;
}

std::optional<ops::QuantKind> to_quant_kind(const Napi::Object& options) {
  const std::string weights = text_of(options, "weights");
  return weights == "plain" ? std::nullopt : std::optional(ops::to_quant_kind(weights));
}

at::ScalarType to_dtype(const std::string& dtype) {
  if (dtype == "float32") return at::kFloat;
  if (dtype == "bfloat16") return at::kBFloat16;
  fail(ErrorCode::kDtype, "dtype: expected float32 or bfloat16, got ", dtype);
}

// The device of tests, `emulated`, has its name once its kernels are open.
at::Device to_device(const std::string& name) {
  // Kernels are launched on a thread's first GPU.
  require(name.rfind("cuda:", 0) != 0, ErrorCode::kDevice, "device: expected cpu or cuda, got ", name,
          "; set CUDA_VISIBLE_DEVICES to the GPU's number before the process starts");
  const bool is_cuda = name == "cuda";
  require(name == "cpu" || is_cuda || name == "emulated", ErrorCode::kDevice, "device: expected cpu or cuda, got ",
          name);
  require(!is_cuda || at::hasCUDA(), ErrorCode::kDevice,
          "device: cuda: this libtorch finds no CUDA device; `npx seekrl doctor --device cuda` says why");
  if (name != "cpu") ops::open_gpu(is_cuda ? at::kCUDA : at::kPrivateUse1);
  return at::Device(name);
}

Napi::Function ModelHandle::define(Napi::Env env) {
  return DefineClass(
      env, "ModelHandle",
      {InstanceMethod("load", &ModelHandle::load), InstanceMethod("create", &ModelHandle::create),
       InstanceMethod("copyFrom", &ModelHandle::copy_from), InstanceMethod("write", &ModelHandle::write),
       InstanceMethod("tensors", &ModelHandle::tensors), InstanceMethod("quantised", &ModelHandle::quantised),
       InstanceMethod("weightsVersion", &ModelHandle::weights_version),
       InstanceMethod("parameter", &ModelHandle::parameter),
       InstanceMethod("scoreLogprobs", &ModelHandle::score_logprobs), InstanceMethod("follow", &ModelHandle::follow),
       InstanceMethod("close", &ModelHandle::close)});
}

ModelHandle::ModelHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ModelHandle>(info) {
  info.This().As<Napi::Object>().TypeTag(&kModelTag);
}

std::shared_ptr<model::Decoder> ModelHandle::decoder_of(const Napi::Value& value) {
  require(value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&kModelTag), ErrorCode::kArgument,
          "model: expected a model's native handle");
  return Unwrap(value.As<Napi::Object>())->leading_decoder();
}

std::shared_ptr<model::Decoder> ModelHandle::decoder() const {
  require(slot_->decoder != nullptr, ErrorCode::kState, "model: closed");
  return slot_->decoder;
}

std::shared_ptr<model::Decoder> ModelHandle::leading_decoder() const {
  const auto decoder = this->decoder();
  decoder->parallel().require_leader("model");
  return decoder;
}

// Runs `make` on the device queue and keeps the decoder it returns, unless the handle was closed meanwhile.
template <class Make>
Napi::Value ModelHandle::fill(Napi::Env env, Make make) {
  return post(env, device_queue(), std::move(make),
              [slot = slot_](Napi::Env js, const std::shared_ptr<model::Decoder>& decoder) -> Napi::Value {
                if (!slot->is_closed) slot->decoder = decoder;
                return js.Undefined();
              });
}

// load(config, {dtype, device, weights, deferred}, tensors, process group or undefined)
Napi::Value ModelHandle::load(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = to_object(info[1], "options");
    return fill(info.Env(),
                [config = to_decoder_config(to_object(info[0], "config")), dtype = to_dtype(text_of(options, "dtype")),
                 device = to_device(text_of(options, "device")), quant = model::quant_all(to_quant_kind(options)),
                 stored = to_stored_tensors(info[2]), group = process_group_of(info[3]),
                 is_unread = bool_of(options, "deferred")] {
                  return model::load(config, dtype, device, stored, quant, group, is_unread);
                });
  });
}

// create(config, {dtype, device, weights, seed, std}, process group or undefined)
Napi::Value ModelHandle::create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = to_object(info[1], "options");
    return fill(info.Env(),
                [config = to_decoder_config(to_object(info[0], "config")), dtype = to_dtype(text_of(options, "dtype")),
                 device = to_device(text_of(options, "device")), quant = model::quant_all(to_quant_kind(options)),
                 seed = static_cast<uint64_t>(integer_of(options, "seed")), std = number_of(options, "std"),
                 group = process_group_of(info[2])] {
                  auto decoder =
                      std::make_shared<model::Decoder>(config, dtype, device, quant, model::Decoder::Expect(), group);
                  decoder->initialise(seed, std);
                  return decoder;
                });
  });
}

// copyFrom(handle)
Napi::Value ModelHandle::copy_from(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return fill(info.Env(), [source = decoder_of(info[0])] { return model::clone(*source); }); });
}

// write(path, header, names, dtype)
Napi::Value ModelHandle::write(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [decoder = leading_decoder(), path = to_text(info[0], "path"), header = to_bytes(info[1], "header"),
                 names = to_texts(info[2], "names"),
                 dtype = to_text(info[3], "dtype")] { model::write_weights(*decoder, path, header, names, dtype); });
  });
}

// tensors(): {name, shape}[], in the decoder's order, whole ones
Napi::Value ModelHandle::tensors(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&]() -> Napi::Value {
    const auto own = decoder();
    return to_whole_js(info.Env(), own->parameters(), [&](const std::string& name) { return own->slice_of(name); });
  });
}

// quantised(): {name, shape, parts: {name, shape, dtype}[]}[]
Napi::Value ModelHandle::quantised(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return to_js(info.Env(), decoder()->quantised()); });
}

Napi::Value ModelHandle::weights_version(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&]() -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(decoder()->weights_version()));
  });
}

// parameter(name): Float32Array
Napi::Value ModelHandle::parameter(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [decoder = leading_decoder(), name = to_text(info[0], "name")] {
          return to_floats(model::whole_parameter(*decoder, name));
        },
        to_float32_array);
  });
}

// scoreLogprobs(ids, adapter or undefined): Float32Array of one fewer
Napi::Value ModelHandle::score_logprobs(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [policy = model::Policy{leading_decoder(), AdapterHandle::adapter_of(info[1])},
         tokens = to_ids(info[0], "ids")] { return to_floats(model::score_logprobs(policy, tokens)); },
        to_float32_array);
  });
}

// follow(): Promise; does what rank 0 does, until that one closes the model
Napi::Value ModelHandle::follow(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(), [decoder = decoder()] { follow::Follower(decoder).run(); });
  });
}

Napi::Value ModelHandle::close(const Napi::CallbackInfo& info) {
  slot_->is_closed = true;
  if (slot_->decoder != nullptr && slot_->decoder->parallel().is_split()) {
    // Where the job has failed there is nobody left to be told.
    device_queue().post([decoder = std::move(slot_->decoder)] {
      try {
        decoder->parallel().release();
      } catch (const std::exception&) {
      }
    });
  }
  slot_->decoder.reset();
  return info.Env().Undefined();
}

void export_model(Napi::Env env, Napi::Object exports) { exports["ModelHandle"] = ModelHandle::define(env); }

}  // namespace seekrl::node
