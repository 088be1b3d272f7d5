// Models for JavaScript: made, read and written on the device queue.
#include "node/model/model_api.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/score.h"
#include "model/weights.h"
#include "node/guard.h"
#include "node/model/adapter_api.h"
#include "node/tensor_values.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

constexpr napi_type_tag kModelTag = {0x6d6f64656c5f6831, 0x7365656b726c0001};

model::RopeScaling rope_scaling(const std::string& kind) {
  if (kind == "linear") return model::RopeScaling::kLinear;
  if (kind == "llama3") return model::RopeScaling::kLlama3;
  return model::RopeScaling::kNone;
}

model::Decoder::QuantOf to_quant(const Napi::Object& options) {
  const std::string weights = text_of(options, "weights");
  return model::quant_all(weights == "plain" ? std::nullopt : std::optional(ops::to_quant_kind(weights)));
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
  config.rope_theta = number_of(object, "ropeTheta");
  config.max_position = integer_of(object, "maxPosition");
  config.qkv_bias = bool_of(object, "qkvBias");
  config.qk_norm = bool_of(object, "qkNorm");
  config.attention_bias = bool_of(object, "attentionBias");
  config.mlp_bias = bool_of(object, "mlpBias");
  config.tie_embeddings = bool_of(object, "tieEmbeddings");
  const Napi::Object scaling = to_object(object.Get("ropeScaling"), "ropeScaling");
  config.rope_scaling = rope_scaling(text_of(scaling, "kind"));
  if (config.rope_scaling != model::RopeScaling::kNone) config.rope_factor = number_of(scaling, "factor");
  if (config.rope_scaling == model::RopeScaling::kLlama3) {
    config.rope_low_freq_factor = number_of(scaling, "lowFreqFactor");
    config.rope_high_freq_factor = number_of(scaling, "highFreqFactor");
    config.rope_original_max_position = integer_of(scaling, "originalMaxPosition");
  }
  return config;
}

at::ScalarType to_dtype(const std::string& dtype) {
  if (dtype == "float32") return at::kFloat;
  if (dtype == "bfloat16") return at::kBFloat16;
  fail(ErrorCode::kDtype, "dtype: expected float32 or bfloat16, got ", dtype);
}

at::Device to_device(const std::string& name) {
  const bool is_cuda = name == "cuda" || name.rfind("cuda:", 0) == 0;
  require(name == "cpu" || is_cuda, ErrorCode::kDevice, "device: expected cpu, cuda or cuda:<index>, got ", name);
  require(!is_cuda || at::hasCUDA(), ErrorCode::kDevice, "device: ", name, ": this libtorch finds no CUDA device");
  try {
    return at::Device(name);
  } catch (const c10::Error&) {
    fail(ErrorCode::kDevice, "device: expected cpu, cuda or cuda:<index>, got ", name);
  }
}

Napi::Function ModelHandle::define(Napi::Env env) {
  return DefineClass(
      env, "ModelHandle",
      {InstanceMethod("load", &ModelHandle::load), InstanceMethod("create", &ModelHandle::create),
       InstanceMethod("copyFrom", &ModelHandle::copy_from), InstanceMethod("write", &ModelHandle::write),
       InstanceMethod("tensors", &ModelHandle::tensors), InstanceMethod("quantised", &ModelHandle::quantised),
       InstanceMethod("weightsVersion", &ModelHandle::weights_version),
       InstanceMethod("parameter", &ModelHandle::parameter),
       InstanceMethod("scoreLogprobs", &ModelHandle::score_logprobs), InstanceMethod("close", &ModelHandle::close)});
}

ModelHandle::ModelHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ModelHandle>(info) {
  info.This().As<Napi::Object>().TypeTag(&kModelTag);
}

std::shared_ptr<model::Decoder> ModelHandle::decoder_of(const Napi::Value& value) {
  require(value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&kModelTag), ErrorCode::kArgument,
          "model: expected a model's native handle");
  return Unwrap(value.As<Napi::Object>())->decoder();
}

std::shared_ptr<model::Decoder> ModelHandle::decoder() const {
  require(slot_->decoder != nullptr, ErrorCode::kState, "model: closed");
  return slot_->decoder;
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

// load(config, {dtype, device, weights}, tensors)
Napi::Value ModelHandle::load(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = to_object(info[1], "options");
    return fill(info.Env(),
                [config = to_decoder_config(to_object(info[0], "config")), dtype = to_dtype(text_of(options, "dtype")),
                 device = to_device(text_of(options, "device")), quant = to_quant(options),
                 stored = to_stored_tensors(info[2])] { return model::load(config, dtype, device, stored, quant); });
  });
}

// create(config, {dtype, device, weights, seed, std})
Napi::Value ModelHandle::create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = to_object(info[1], "options");
    return fill(info.Env(),
                [config = to_decoder_config(to_object(info[0], "config")), dtype = to_dtype(text_of(options, "dtype")),
                 device = to_device(text_of(options, "device")), quant = to_quant(options),
                 seed = static_cast<uint64_t>(integer_of(options, "seed")), std = number_of(options, "std")] {
                  auto decoder = std::make_shared<model::Decoder>(config, dtype, device, quant);
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
                [decoder = decoder(), path = to_text(info[0], "path"), header = to_bytes(info[1], "header"),
                 names = to_texts(info[2], "names"),
                 dtype = to_text(info[3], "dtype")] { model::write_weights(*decoder, path, header, names, dtype); });
  });
}

// tensors(): {name, shape}[], in the decoder's order
Napi::Value ModelHandle::tensors(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return to_js(info.Env(), decoder()->parameters()); });
}

// quantised(): {name, parts: {name, shape, dtype}[], numWeights}[]
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
        [decoder = decoder(), name = to_text(info[0], "name")] { return to_floats(decoder->parameter(name)); },
        to_float32_array);
  });
}

// scoreLogprobs(ids, adapter or undefined): Float32Array of one fewer
Napi::Value ModelHandle::score_logprobs(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [policy = model::Policy{decoder(), AdapterHandle::adapter_of(info[1])}, tokens = to_ids(info[0], "ids")] {
          return to_floats(model::score_logprobs(policy, tokens));
        },
        to_float32_array);
  });
}

Napi::Value ModelHandle::close(const Napi::CallbackInfo& info) {
  slot_->is_closed = true;
  slot_->decoder.reset();
  return info.Env().Undefined();
}

void export_model(Napi::Env env, Napi::Object exports) { exports["ModelHandle"] = ModelHandle::define(env); }

}  // namespace seekrl::node
