// The policy's trainer for JavaScript: every call is a task on the device queue.
#include "node/train/train_api.h"

#include "node/model/model_api.h"
#include "ops/gpu/memory.h"
#include "train/scratch_bytes.h"
#include "train/weight_broadcast.h"

namespace seekrl::node {

namespace {

// tokenLogprobs(model, adapter or undefined, batch, temperature): {logprobs, entropies}, one per row.
Napi::Value token_logprobs(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    struct Scores {
      std::vector<float> logprobs, entropies;
    };
    return post(
        info.Env(), device_queue(),
        [policy = policy_of(info[0], info[1]), arrays = to_batch_arrays(info[2]),
         temperature = to_number(info[3], "temperature")] {
          const auto batch =
              train::make_batch(arrays, policy.decoder->config().vocab_size, train::batch_device(*policy.decoder));
          const auto scores = train::scores(policy, batch, temperature);
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

// trainingScratch(device, sizes): {logits, attention, weights}, bytes; of a GPU that need not be there
Napi::Value training_scratch(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object sizes = to_object(info[1], "sizes");
    const at::Device device = to_text(info[0], "device") == "cpu" ? at::kCPU : at::kCUDA;
    const train::ScratchBytes bytes = train::scratch_bytes(device, {.num_kv_heads = integer_of(sizes, "numKvHeads"),
                                                                    .head_dim = integer_of(sizes, "headDim"),
                                                                    .vocab_size = integer_of(sizes, "vocabSize"),
                                                                    .num_tokens = integer_of(sizes, "tokens"),
                                                                    .num_rows = integer_of(sizes, "rows"),
                                                                    .is_quantised = bool_of(sizes, "isQuantised")});
    Napi::Object object = Napi::Object::New(info.Env());
    object["logits"] = static_cast<double>(bytes.logits);
    object["attention"] = static_cast<double>(bytes.attention);
    object["weights"] = static_cast<double>(bytes.weights);
    return object;
  });
}

// gpuMemory(device): {free, all}, bytes
Napi::Value gpu_memory(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), device_queue(), [device = to_device(to_text(info[0], "device"))] { return ops::memory_of(device); },
        [](Napi::Env env, const ops::GpuMemory& memory) -> Napi::Value {
          Napi::Object object = Napi::Object::New(env);
          object["free"] = static_cast<double>(memory.free_bytes);
          object["all"] = static_cast<double>(memory.all_bytes);
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

// broadcastWeights(model, adapter or undefined, processGroup, root): what is trained, in place, and its version
Napi::Value broadcast_weights(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const model::Policy policy = policy_of(info[0], info[1]);
    require(!policy.decoder->parallel().is_split(), ErrorCode::kArgument,
            "weights of another rank: expected a model that each rank holds whole, got one under tensor parallelism");
    return post(info.Env(), device_queue(),
                [policy, group = process_group_of(info[2]), root = to_integer(info[3], "root")] {
                  train::broadcast_weights(policy, *group, static_cast<int>(root));
                });
  });
}

}  // namespace

Napi::Function TrainerHandle::define(Napi::Env env) {
  return DefineClass(env, "TrainerHandle", with_shared({InstanceMethod("accumulate", &TrainerHandle::accumulate)}));
}

// accumulate(batch, lossOptions, sums, numRecomputed)
Napi::Value TrainerHandle::accumulate(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), device_queue(),
                [trainer = learner(), arrays = to_batch_arrays(info[0]), options = to_loss_options(info[1]),
                 sums = sums_of(info[2]), num_recomputed = to_integer(info[3], "numRecomputed")] {
                  const auto& decoder = trainer->decoder();
                  const auto batch =
                      train::make_batch(arrays, decoder.config().vocab_size, train::batch_device(decoder));
                  train::accumulate(*trainer, batch, options, *sums, num_recomputed);
                });
  });
}

void export_train(Napi::Env env, Napi::Object exports) {
  exports["TrainerHandle"] = TrainerHandle::define(env);
  exports["CriticHandle"] = CriticHandle::define(env);
  exports["readWeights"] = Napi::Function::New(env, read_weights);
  exports["broadcastWeights"] = Napi::Function::New(env, broadcast_weights);
  exports["trainingScratch"] = Napi::Function::New(env, training_scratch);
  exports["gpuMemory"] = Napi::Function::New(env, gpu_memory);
  exports["tokenLogprobs"] = Napi::Function::New(env, token_logprobs);
}

}  // namespace seekrl::node
