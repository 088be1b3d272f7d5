// Models for JavaScript: made, read and written on the device queue.
#include "node/model_api.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "model/score.h"
#include "model/weights.h"
#include "node/guard.h"

namespace seekrl::node {

namespace {

constexpr napi_type_tag kModelTag = {0x6d6f64656c5f6831, 0x7365656b726c0001};

int64_t integer(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().Int64Value();
}

double number(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().DoubleValue();
}

bool boolean(const Napi::Object& object, const char* name) { return object.Get(name).As<Napi::Boolean>().Value(); }

std::string text(const Napi::Value& value) { return value.As<Napi::String>().Utf8Value(); }

model::RopeScaling rope_scaling(const std::string& kind) {
  if (kind == "linear") return model::RopeScaling::kLinear;
  if (kind == "llama3") return model::RopeScaling::kLlama3;
  return model::RopeScaling::kNone;
}

// The object is what lib/model's config.ts checked.
model::DecoderConfig to_config(const Napi::Object& object) {
  model::DecoderConfig config;
  config.vocab_size = integer(object, "vocabSize");
  config.hidden_size = integer(object, "hiddenSize");
  config.intermediate_size = integer(object, "intermediateSize");
  config.num_layers = integer(object, "numLayers");
  config.num_heads = integer(object, "numHeads");
  config.num_kv_heads = integer(object, "numKvHeads");
  config.head_dim = integer(object, "headDim");
  config.rms_norm_eps = number(object, "rmsNormEps");
  config.rope_theta = number(object, "ropeTheta");
  config.max_position = integer(object, "maxPosition");
  config.qkv_bias = boolean(object, "qkvBias");
  config.qk_norm = boolean(object, "qkNorm");
  config.attention_bias = boolean(object, "attentionBias");
  config.mlp_bias = boolean(object, "mlpBias");
  config.tie_embeddings = boolean(object, "tieEmbeddings");
  const Napi::Object scaling = object.Get("ropeScaling").As<Napi::Object>();
  config.rope_scaling = rope_scaling(text(scaling.Get("kind")));
  if (config.rope_scaling != model::RopeScaling::kNone) config.rope_factor = number(scaling, "factor");
  if (config.rope_scaling == model::RopeScaling::kLlama3) {
    config.rope_low_freq_factor = number(scaling, "lowFreqFactor");
    config.rope_high_freq_factor = number(scaling, "highFreqFactor");
    config.rope_original_max_position = integer(scaling, "originalMaxPosition");
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

std::vector<int64_t> to_sizes(const Napi::Array& array) {
  std::vector<int64_t> sizes(array.Length());
  for (uint32_t i = 0; i < array.Length(); ++i) sizes[i] = array.Get(i).As<Napi::Number>().Int64Value();
  return sizes;
}

std::vector<std::string> to_texts(const Napi::Array& array) {
  std::vector<std::string> texts(array.Length());
  for (uint32_t i = 0; i < array.Length(); ++i) texts[i] = text(array.Get(i));
  return texts;
}

std::vector<model::StoredTensor> to_stored(const Napi::Array& array) {
  std::vector<model::StoredTensor> stored;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Object entry = array.Get(i).As<Napi::Object>();
    stored.push_back({text(entry.Get("name")), text(entry.Get("dtype")), to_sizes(entry.Get("shape").As<Napi::Array>()),
                      text(entry.Get("path")), static_cast<uint64_t>(integer(entry, "offset"))});
  }
  return stored;
}

Napi::Value to_float32_array(Napi::Env env, const std::vector<float>& values) {
  auto array = Napi::Float32Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

std::vector<float> to_floats(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* values = flat.const_data_ptr<float>();
  return std::vector<float>(values, values + flat.numel());
}

}  // namespace

Napi::Function ModelHandle::define(Napi::Env env) {
  return DefineClass(
      env, "ModelHandle",
      {InstanceMethod("load", &ModelHandle::load), InstanceMethod("create", &ModelHandle::create),
       InstanceMethod("copyFrom", &ModelHandle::copy_from), InstanceMethod("write", &ModelHandle::write),
       InstanceMethod("tensors", &ModelHandle::tensors),
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

// load(config, {dtype, device}, tensors)
Napi::Value ModelHandle::load(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = info[1].As<Napi::Object>();
    return fill(info.Env(),
                [config = to_config(info[0].As<Napi::Object>()), dtype = to_dtype(text(options.Get("dtype"))),
                 device = to_device(text(options.Get("device"))), stored = to_stored(info[2].As<Napi::Array>())] {
                  auto decoder = std::make_shared<model::Decoder>(config, dtype, device);
                  model::read_weights(*decoder, stored);
                  return decoder;
                });
  });
}

// create(config, {dtype, device, seed, std})
Napi::Value ModelHandle::create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = info[1].As<Napi::Object>();
    return fill(info.Env(),
                [config = to_config(info[0].As<Napi::Object>()), dtype = to_dtype(text(options.Get("dtype"))),
                 device = to_device(text(options.Get("device"))),
                 seed = static_cast<uint64_t>(integer(options, "seed")), std = number(options, "std")] {
                  auto decoder = std::make_shared<model::Decoder>(config, dtype, device);
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
    const auto header = info[1].As<Napi::Uint8Array>();
    return post(info.Env(), device_queue(),
                [decoder = decoder(), path = text(info[0]), names = to_texts(info[2].As<Napi::Array>()),
                 bytes = std::string(reinterpret_cast<const char*>(header.Data()), header.ByteLength()),
                 dtype = text(info[3])] { model::write_weights(*decoder, path, bytes, names, dtype); });
  });
}

// tensors(): {name, shape}[], in the decoder's order. Names and shapes never change, so any thread may read them.
Napi::Value ModelHandle::tensors(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&]() -> Napi::Value {
    const auto decoder = this->decoder();
    Napi::Array list = Napi::Array::New(info.Env());
    for (const model::Parameter& parameter : decoder->parameters()) {
      Napi::Array shape = Napi::Array::New(info.Env());
      for (const int64_t size : parameter.value.sizes()) {
        shape[shape.Length()] = Napi::Number::New(info.Env(), static_cast<double>(size));
      }
      Napi::Object entry = Napi::Object::New(info.Env());
      entry["name"] = Napi::String::New(info.Env(), parameter.name);
      entry["shape"] = shape;
      list[list.Length()] = entry;
    }
    return list;
  });
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
        [decoder = decoder(), name = text(info[0])] { return to_floats(decoder->parameter(name)); }, to_float32_array);
  });
}

// scoreLogprobs(ids): Float32Array of one fewer
Napi::Value ModelHandle::score_logprobs(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const auto ids = info[0].As<Napi::Int32Array>();
    return post(
        info.Env(), device_queue(),
        [decoder = decoder(), tokens = std::vector<int64_t>(ids.Data(), ids.Data() + ids.ElementLength())] {
          return to_floats(model::score_logprobs(*decoder, tokens));
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
