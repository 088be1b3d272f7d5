// The JavaScript handle of an engine.
#pragma once

#include <napi.h>

#include <cstdint>
#include <map>
#include <memory>

#include "engine/sampling/mask_slot.h"

namespace seekrl::node {

class EngineHost;

// `new EngineHandle(listener)`, then `start`. Commands return at once and their outcome comes to the listener, at most
// one event per engine step. The process stays alive while a generation is pending.
class EngineHandle : public Napi::ObjectWrap<EngineHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit EngineHandle(const Napi::CallbackInfo& info);

 private:
  Napi::Value start(const Napi::CallbackInfo& info);
  Napi::Value open(const Napi::CallbackInfo& info);
  Napi::Value fork(const Napi::CallbackInfo& info);
  Napi::Value append(const Napi::CallbackInfo& info);
  Napi::Value truncate(const Napi::CallbackInfo& info);
  Napi::Value generate(const Napi::CallbackInfo& info);
  Napi::Value score(const Napi::CallbackInfo& info);
  Napi::Value cancel(const Napi::CallbackInfo& info);
  Napi::Value set_mask(const Napi::CallbackInfo& info);
  Napi::Value close_sequence(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  Napi::Value num_blocks(const Napi::CallbackInfo& info);
  Napi::Value num_free_blocks(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  std::shared_ptr<EngineHost> host_;
  // Of the sequences whose last span is constrained.
  std::map<int32_t, std::shared_ptr<engine::MaskSlot>> masks_;
};

void export_engine(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
