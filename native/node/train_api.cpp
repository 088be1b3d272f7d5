// The policy's trainer for JavaScript: every call is a task on the device queue.
#include "node/train_api.h"

#include "node/model_api.h"
#include "node/train_values.h"

namespace seekrl::node {

namespace {

// tokenLogprobs(model, batch, temperature): {logprobs, entropies}, one per row.
Napi::Value token_logprobs(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    struct Scores {
      std::vector<float> logprobs, entropies;
    };
    return post(
        info.Env(), device_queue(),
        [decoder = ModelHandle::decoder_of(info[0]), arrays = to_batch_arrays(info[1]),
         temperature = to_number(info[2], "temperature")] {
          const auto batch = train::make_batch(arrays, decoder->config().vocab_size, decoder->device());
          const auto scores = train::score_tokens(*decoder, batch, temperature);
          return Scores{to_floats(scores.logprob_R), to_floats(scores.entropy_R)};
        },
        [](Napi::Env env, const Scores& scores) -> Napi::Value {
          Napi::Object object = Napi::Object::New(env);
          object["logprobs"] = to_float32_array(env, scores.logprobs);
          object["entropies"] = to_float32_array(env, scores.entropies);
          return object;
        });
  });
}

// readWeights(model, tensors): fills the model in place, so that engine and trainer both see them.
Napi::Value read_weights(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [decoder = ModelHandle::decoder_of(info[0]), stored = to_stored_tensors(info[1])] {
                  model::read_weights(*decoder, stored);
                });
  });
}

}  // namespace

Napi::Function TrainerHandle::define(Napi::Env env) {
  return DefineClass(
      env, "TrainerHandle",
      {InstanceMethod("open", &TrainerHandle::open), InstanceMethod("accumulate", &TrainerHandle::accumulate),
       InstanceMethod("step", &TrainerHandle::step), InstanceMethod("zeroGradients", &TrainerHandle::zero_gradients),
       InstanceMethod("gradient", &TrainerHandle::gradient),
       InstanceMethod("stateTensors", &TrainerHandle::state_tensors),
       InstanceMethod("writeState", &TrainerHandle::write_state),
       InstanceMethod("readState", &TrainerHandle::read_state), InstanceMethod("close", &TrainerHandle::close)});
}

// open(model, optimiserOptions)
Napi::Value TrainerHandle::open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [decoder = ModelHandle::decoder_of(info[0]), options = to_adamw_options(info[1])] {
          return std::make_shared<train::Trainer>(decoder, options);
        },
        [slot = slot_](Napi::Env env, const std::shared_ptr<train::Trainer>& trainer) -> Napi::Value {
          slot->fill(trainer);
          return env.Undefined();
        });
  });
}

// accumulate(batch, lossOptions): statistics
Napi::Value TrainerHandle::accumulate(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(),
        [trainer = trainer(), arrays = to_batch_arrays(info[0]), options = to_loss_options(info[1])] {
          const auto& decoder = trainer->decoder();
          const auto batch = train::make_batch(arrays, decoder.config().vocab_size, decoder.device());
          return trainer->accumulate(batch, options);
        },
        [](Napi::Env env, const train::LossStats& stats) { return to_js(env, stats); });
  });
}

Napi::Value TrainerHandle::step(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_step(info, trainer()); });
}

Napi::Value TrainerHandle::zero_gradients(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_zero_gradients(info, trainer()); });
}

Napi::Value TrainerHandle::gradient(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_gradient(info, trainer()); });
}

// Names and shapes never change, so any thread may read them.
Napi::Value TrainerHandle::state_tensors(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return to_js(info.Env(), trainer()->state()); });
}

Napi::Value TrainerHandle::write_state(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_write_state(info, trainer()); });
}

Napi::Value TrainerHandle::read_state(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return post_read_state(info, trainer()); });
}

Napi::Value TrainerHandle::close(const Napi::CallbackInfo& info) {
  slot_->close();
  return info.Env().Undefined();
}

void export_train(Napi::Env env, Napi::Object exports) {
  exports["TrainerHandle"] = TrainerHandle::define(env);
  exports["CriticHandle"] = CriticHandle::define(env);
  exports["readWeights"] = Napi::Function::New(env, read_weights);
  exports["tokenLogprobs"] = Napi::Function::New(env, token_logprobs);
}

}  // namespace seekrl::node
