// The addon's exports, gathered.
#include <ATen/Parallel.h>
#include <napi.h>
#include <torch/version.h>

#include "kernels/isa.h"
#include "node/comm/comm_api.h"
#include "node/environment.h"
#include "node/guard.h"
#include "node/model/adapter_api.h"
#include "node/model/encoder_api.h"
#include "node/model/engine_api.h"
#include "node/model/model_api.h"
#include "node/search/search_api.h"
#include "node/train/train_api.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

Napi::Value torch_version(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), TORCH_VERSION); }

Napi::Value instruction_set(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return Napi::String::New(info.Env(), kernels::isa_name(kernels::isa())); });
}

Napi::Value set_num_threads(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    // OpenMP's thread count belongs to the thread that sets it: all torch work runs on the device queue.
    return post(info.Env(), device_queue(), [num_threads = to_integer(info[0], "numThreads")] {
      at::set_num_threads(static_cast<int>(num_threads));
    });
  });
}

void set_error_class(const Napi::CallbackInfo& info) {
  Environment::of(info.Env()).error_class = Napi::Persistent(info[0].As<Napi::Function>());
}

}  // namespace
}  // namespace seekrl::node

static Napi::Object load_addon(Napi::Env env, Napi::Object exports) {
  using namespace seekrl::node;
  Mailbox::install(env);
  run_queues_for(env);
  exports["torchVersion"] = Napi::Function::New(env, torch_version);
  exports["instructionSet"] = Napi::Function::New(env, instruction_set);
  exports["setNumThreads"] = Napi::Function::New(env, set_num_threads);
  exports["setErrorClass"] = Napi::Function::New(env, set_error_class);
  export_comm(env, exports);
  export_model(env, exports);
  export_adapter(env, exports);
  export_engine(env, exports);
  export_train(env, exports);
  export_vectors(env, exports);
  export_vector_gpus(env, exports);
  export_lexicon(env, exports);
  export_bm25(env, exports);
  export_corpus(env, exports);
  export_passages(env, exports);
  export_folders(env, exports);
  export_embedder(env, exports);
  export_encoder(env, exports);
  return exports;
}

NODE_API_MODULE(seekrl, load_addon)
