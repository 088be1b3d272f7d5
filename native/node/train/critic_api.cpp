// The critic for JavaScript: every call is a task on the device queue.
#include "node/train/train_api.h"

namespace seekrl::node {

namespace {

train::Batch batch_for(const train::Critic& critic, const train::BatchArrays& arrays) {
  return train::make_batch(arrays, critic.decoder().config().vocab_size, train::batch_device(critic.decoder()));
}

}  // namespace

Napi::Function CriticHandle::define(Napi::Env env) {
  return DefineClass(env, "CriticHandle",
                     with_shared({InstanceMethod("values", &CriticHandle::values),
                                  InstanceMethod("accumulate", &CriticHandle::accumulate)}));
}

// values(batch): Float32Array, one per row
Napi::Value CriticHandle::values(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [critic = learner(), arrays = to_batch_arrays(info[0])] {
          return to_floats(train::values(*critic, batch_for(*critic, arrays)));
        },
        to_float32_array);
  });
}

// accumulate(batch, clip, sums, numRecomputed)
Napi::Value CriticHandle::accumulate(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [critic = learner(), arrays = to_batch_arrays(info[0]), clip = to_number(info[1], "clip"),
                 sums = sums_of(info[2]), num_recomputed = to_integer(info[3], "numRecomputed")] {
                  train::accumulate(*critic, batch_for(*critic, arrays), clip, *sums, num_recomputed);
                });
  });
}

}  // namespace seekrl::node
