// The critic for JavaScript: every call is a task on the device queue.
#include "node/model_api.h"
#include "node/train_api.h"
#include "node/train_values.h"

namespace seekrl::node {

namespace {

train::Batch batch_for(const train::Critic& critic, const train::BatchArrays& arrays) {
  return train::make_batch(arrays, critic.trunk().config().vocab_size, critic.trunk().device());
}

}  // namespace

Napi::Function CriticHandle::define(Napi::Env env) {
  return DefineClass(
      env, "CriticHandle",
      {InstanceMethod("open", &CriticHandle::open), InstanceMethod("values", &CriticHandle::values),
       InstanceMethod("accumulate", &CriticHandle::accumulate), InstanceMethod("step", &CriticHandle::step),
       InstanceMethod("zeroGradients", &CriticHandle::zero_gradients),
       InstanceMethod("gradient", &CriticHandle::gradient),
       InstanceMethod("stateTensors", &CriticHandle::state_tensors),
       InstanceMethod("writeState", &CriticHandle::write_state), InstanceMethod("readState", &CriticHandle::read_state),
       InstanceMethod("close", &CriticHandle::close)});
}

// open(trunk, optimiserOptions)
Napi::Value CriticHandle::open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [decoder = ModelHandle::decoder_of(info[0]), options = to_adamw_options(info[1])] {
          return std::make_shared<train::Critic>(decoder, options);
        },
        [slot = slot_](Napi::Env env, const std::shared_ptr<train::Critic>& critic) -> Napi::Value {
          slot->fill(critic);
          return env.Undefined();
        });
  });
}

// values(batch): Float32Array, one per row
Napi::Value CriticHandle::values(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [critic = critic(), arrays = to_batch_arrays(info[0])] {
          return to_floats(critic->values(batch_for(*critic, arrays)));
        },
        to_float32_array);
  });
}

// accumulate(batch, clip): statistics
Napi::Value CriticHandle::accumulate(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [critic = critic(), arrays = to_batch_arrays(info[0]), clip = to_number(info[1], "clip")] {
          return critic->accumulate(batch_for(*critic, arrays), clip);
        },
        [](Napi::Env env, const train::ValueStats& stats) { return to_js(env, stats); });
  });
}

Napi::Value CriticHandle::step(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_step(info, critic()); });
}

Napi::Value CriticHandle::zero_gradients(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_zero_gradients(info, critic()); });
}

Napi::Value CriticHandle::gradient(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_gradient(info, critic()); });
}

Napi::Value CriticHandle::state_tensors(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return to_js(info.Env(), critic()->state()); });
}

Napi::Value CriticHandle::write_state(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_write_state(info, critic()); });
}

Napi::Value CriticHandle::read_state(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_read_state(info, critic()); });
}

Napi::Value CriticHandle::close(const Napi::CallbackInfo& info) {
  slot_->close();
  return info.Env().Undefined();
}

}  // namespace seekrl::node
