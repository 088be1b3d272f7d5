// The JavaScript handle of an adapter, which engine, trainer and scores take beside the model's.
#pragma once

#include <napi.h>

#include <memory>

#include "model/adapters/adapter.h"
#include "model/policy.h"

namespace seekrl::node {

// `new AdapterHandle()` is empty; create or copyFrom fills it, close empties it again.
class AdapterHandle : public Napi::ObjectWrap<AdapterHandle> {
 public:
  static Napi::Function define(Napi::Env env);

  // The adapter of a JavaScript argument, null for undefined; throws ERR_ARGUMENT for anything else and ERR_STATE once
  // closed.
  static std::shared_ptr<model::Adapter> adapter_of(const Napi::Value& value);

  explicit AdapterHandle(const Napi::CallbackInfo& info);

 private:
  // Outlives the JavaScript object while a task runs.
  struct Slot {
    std::shared_ptr<model::Adapter> adapter;
    bool is_closed = false;
  };

  std::shared_ptr<model::Adapter> adapter() const;
  template <class Make>
  Napi::Value fill(Napi::Env env, Make make);

  Napi::Value create(const Napi::CallbackInfo& info);
  Napi::Value copy_from(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  Napi::Value write(const Napi::CallbackInfo& info);
  Napi::Value merge_into(const Napi::CallbackInfo& info);
  Napi::Value tensors(const Napi::CallbackInfo& info);
  Napi::Value version(const Napi::CallbackInfo& info);
  Napi::Value parameter(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);

  std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
};

// Of two arguments: a model's handle, and an adapter's or undefined.
model::Policy policy_of(const Napi::Value& model, const Napi::Value& adapter);

void export_adapter(Napi::Env env, Napi::Object exports);

}  // namespace seekrl::node
