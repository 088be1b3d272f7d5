// The JavaScript handle of a decoder, which the engine and the trainer take.
#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <string>

#include "model/decoder.h"
#include "ops/quant/quant_weight.h"

namespace seekrl::node {

// `new ModelHandle()` is empty; load, create or copyFrom fills it, close empties it again.
class ModelHandle : public Napi::ObjectWrap<ModelHandle> {
 public:
  static Napi::Function define(Napi::Env env);

  // The decoder of a JavaScript argument; throws ERR_ARGUMENT for anything else, ERR_STATE once closed and on a rank
  // that follows another.
  static std::shared_ptr<model::Decoder> decoder_of(const Napi::Value& value);

  explicit ModelHandle(const Napi::CallbackInfo& info);

 private:
  // Outlives the JavaScript object while a task runs.
  struct Slot {
    std::shared_ptr<model::Decoder> decoder;
    bool is_closed = false;
  };

  std::shared_ptr<model::Decoder> decoder() const;
  // ERR_STATE on a rank that follows another.
  std::shared_ptr<model::Decoder> leading_decoder() const;
  template <class Make>
  Napi::Value fill(Napi::Env env, Make make);

  Napi::Value load(const Napi::CallbackInfo& info);
  Napi::Value create(const Napi::CallbackInfo& info);
  Napi::Value copy_from(const Napi::CallbackInfo& info);
  Napi::Value write(const Napi::CallbackInfo& info);
  Napi::Value tensors(const Napi::CallbackInfo& info);
  Napi::Value quantised(const Napi::CallbackInfo& info);
  Napi::Value weights_version(const Napi::CallbackInfo& info);
  Napi::Value parameter(const Napi::CallbackInfo& info);
  Napi::Value score_logprobs(const Napi::CallbackInfo& info);
  Napi::Value follow(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
};

// What JavaScript says of a model: its shape (lib/model/config.ts), `float32` or `bfloat16`, `cpu` or `cuda:<index>`.
model::DecoderConfig to_decoder_config(const Napi::Object& object);
at::ScalarType to_dtype(const std::string& dtype);
at::Device to_device(const std::string& name);
// The option `weights`: `plain`, or how they are quantised.
std::optional<ops::QuantKind> to_quant_kind(const Napi::Object& options);

void export_model(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
