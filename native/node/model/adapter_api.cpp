// Adapters for JavaScript: made, read, written and merged on the device queue.
#include "node/model/adapter_api.h"

#include "base/error.h"
#include "model/adapters/merge.h"
#include "model/adapters/told_adapter.h"
#include "node/guard.h"
#include "node/model/model_api.h"
#include "node/tensor_values.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

constexpr napi_type_tag kAdapterTag = {0x616461707465725f, 0x7365656b726c0002};

model::AdapterOptions to_adapter_options(const Napi::Object& object) {
  return {integer_of(object, "rank"), number_of(object, "alpha"), bool_of(object, "rankStabilised"),
          to_texts(object.Get("targets"), "targets")};
}

}  // namespace

Napi::Function AdapterHandle::define(Napi::Env env) {
  return DefineClass(
      env, "AdapterHandle",
      {InstanceMethod("create", &AdapterHandle::create), InstanceMethod("copyFrom", &AdapterHandle::copy_from),
       InstanceMethod("read", &AdapterHandle::read), InstanceMethod("write", &AdapterHandle::write),
       InstanceMethod("mergeInto", &AdapterHandle::merge_into), InstanceMethod("tensors", &AdapterHandle::tensors),
       InstanceMethod("version", &AdapterHandle::version), InstanceMethod("parameter", &AdapterHandle::parameter),
       InstanceMethod("close", &AdapterHandle::close)});
}

AdapterHandle::AdapterHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<AdapterHandle>(info) {
  info.This().As<Napi::Object>().TypeTag(&kAdapterTag);
}

std::shared_ptr<model::Adapter> AdapterHandle::adapter_of(const Napi::Value& value) {
  if (value.IsUndefined()) return nullptr;
  require(value.IsObject() && value.As<Napi::Object>().CheckTypeTag(&kAdapterTag), ErrorCode::kArgument,
          "adapter: expected an adapter's native handle");
  return Unwrap(value.As<Napi::Object>())->adapter();
}

std::shared_ptr<model::Adapter> AdapterHandle::adapter() const {
  require(slot_->adapter != nullptr, ErrorCode::kState, "adapter: closed");
  return slot_->adapter;
}

// Runs `make` on the device queue and keeps the adapter it returns, unless the handle was closed meanwhile.
template <class Make>
Napi::Value AdapterHandle::fill(Napi::Env env, Make make) {
  return post(env, device_queue(), std::move(make),
              [slot = slot_](Napi::Env js, const std::shared_ptr<model::Adapter>& adapter) -> Napi::Value {
                if (!slot->is_closed) slot->adapter = adapter;
                return js.Undefined();
              });
}

// create(model, {rank, alpha, rankStabilised, targets, seed})
Napi::Value AdapterHandle::create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object object = to_object(info[1], "options");
    return fill(info.Env(), [decoder = ModelHandle::decoder_of(info[0]), options = to_adapter_options(object),
                             seed = static_cast<uint64_t>(integer_of(object, "seed"))] {
      return model::open_adapter(*decoder, options, seed);
    });
  });
}

// copyFrom(model, adapter)
Napi::Value AdapterHandle::copy_from(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const auto source = adapter_of(info[1]);
    require(source != nullptr, ErrorCode::kArgument, "adapter: expected one to copy");
    return fill(info.Env(), [decoder = ModelHandle::decoder_of(info[0]), source] {
      return model::copy_adapter(*decoder, *source);
    });
  });
}

// read(tensors): replaces the numbers in place, so that engine and trainer both see them
Napi::Value AdapterHandle::read(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [adapter = adapter(), stored = to_stored_tensors(info[0])] { model::read_adapter(*adapter, stored); });
  });
}

// write(path, header): the tensors in the order of tensors(), as f32
Napi::Value AdapterHandle::write(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [adapter = adapter(), path = to_text(info[0], "path"), header = to_bytes(info[1], "header")] {
                  model::write_adapter(*adapter, path, header);
                });
  });
}

// mergeInto(model)
Napi::Value AdapterHandle::merge_into(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(), [adapter = adapter(), decoder = ModelHandle::decoder_of(info[0])] {
      model::merge(*decoder, *adapter);
    });
  });
}

// tensors(): {name, shape}[]
Napi::Value AdapterHandle::tensors(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&]() -> Napi::Value {
    const auto own = adapter();
    return to_whole_js(info.Env(), own->parameters(), [&](const std::string& name) { return own->slice_of(name); });
  });
}

Napi::Value AdapterHandle::version(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&]() -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(adapter()->version()));
  });
}

// parameter(name): Float32Array
Napi::Value AdapterHandle::parameter(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [adapter = adapter(), name = to_text(info[0], "name")] {
          return to_floats(model::whole_parameter(*adapter, name));
        },
        to_float32_array);
  });
}

Napi::Value AdapterHandle::close(const Napi::CallbackInfo& info) {
  slot_->is_closed = true;
  slot_->adapter.reset();
  return info.Env().Undefined();
}

model::Policy policy_of(const Napi::Value& model, const Napi::Value& adapter) {
  return {ModelHandle::decoder_of(model), AdapterHandle::adapter_of(adapter)};
}

void export_adapter(Napi::Env env, Napi::Object exports) { exports["AdapterHandle"] = AdapterHandle::define(env); }

}  // namespace seekrl::node
