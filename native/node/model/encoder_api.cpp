// Encoders for JavaScript: a call's texts are cut into parts, and a few tasks take part after part.
//
// Encoders on the CPU have a queue of their own: generation keeps the device queue and searches keep theirs. A task
// encodes one part of a call and goes to the end of the queue for the next, so that a query waits for a part, not for a
// corpus.
#include "node/model/encoder_api.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "model/encoders/decoder_encoder.h"
#include "model/encoders/encoder.h"
#include "model/encoders/gpu_encoder.h"
#include "node/guard.h"
#include "node/model/model_api.h"
#include "node/search/search_work.h"
#include "node/tensor_values.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

using model::TextBatch;
using model::TextEncoder;

// Tokens of a part: enough to repay reading the weights, few enough for a short wait.
constexpr int64_t kMostPartTokens = 256;
constexpr int64_t kFewestPartTokens = 128;
// On a GPU: enough to fill it; activations of the widest encoders then take 0.6 GB.
constexpr int64_t kGpuPartTokens = 1 << 14;

model::Pooling to_pooling(const std::string& name) {
  if (name == "cls") return model::Pooling::kCls;
  if (name == "mean") return model::Pooling::kMean;
  if (name == "last") return model::Pooling::kLast;
  if (name == "score") return model::Pooling::kScore;
  fail(ErrorCode::kArgument, "pooling: expected cls, mean, last or score, got ", name);
}

// The object is what lib/search/embed's encoder-config.ts checked.
model::EncoderConfig to_encoder_config(const Napi::Object& object) {
  model::EncoderConfig config;
  config.vocab_size = integer_of(object, "vocabSize");
  config.hidden_size = integer_of(object, "hiddenSize");
  config.intermediate_size = integer_of(object, "intermediateSize");
  config.num_layers = integer_of(object, "numLayers");
  config.num_heads = integer_of(object, "numHeads");
  config.num_positions = integer_of(object, "numPositions");
  config.position_offset = integer_of(object, "positionOffset");
  config.num_types = integer_of(object, "numTypes");
  config.layer_norm_eps = number_of(object, "layerNormEps");
  config.has_classifier = bool_of(object, "hasClassifier");
  return config;
}

TaskQueue& queue_of(bool is_on_gpu) { return is_on_gpu ? device_queue() : encode_queue(); }

template <class Make>
Napi::Value post_open(Napi::Env env, at::Device device, Make make) {
  return post(env, queue_of(!device.is_cpu()), std::move(make),
              [](Napi::Env js, const std::shared_ptr<TextEncoder>& encoder) { return wrap(js, encoder); });
}

// encoderOpen(config, {dtype, weights, device, pooling, isNormalised}, tensors)
Napi::Value encoder_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = to_object(info[1], "options");
    const at::Device device = to_device(text_of(options, "device"));
    return post_open(
        info.Env(), device,
        [config = to_encoder_config(to_object(info[0], "config")), dtype = to_dtype(text_of(options, "dtype")),
         kind = to_quant_kind(options), device, pooling = to_pooling(text_of(options, "pooling")),
         is_normalised = bool_of(options, "isNormalised"),
         stored = to_stored_tensors(info[2])]() -> std::shared_ptr<TextEncoder> {
          require(device.is_cpu() || !kind, ErrorCode::kArgument,
                  "weights: encoders on a GPU have bfloat16; leave weights out or give device cpu");
          if (!device.is_cpu()) {
            return std::make_shared<model::GpuEncoder>(config, dtype, device, pooling, is_normalised, stored);
          }
          return std::make_shared<model::Encoder>(config, dtype, kind, pooling, is_normalised, stored);
        });
  });
}

// encoderOpenDecoder(config, {dtype, weights, device, pooling, isNormalised}, tensors)
Napi::Value encoder_open_decoder(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const Napi::Object options = to_object(info[1], "options");
    const at::Device device = to_device(text_of(options, "device"));
    return post_open(
        info.Env(), device,
        [config = to_decoder_config(to_object(info[0], "config")), dtype = to_dtype(text_of(options, "dtype")),
         kind = to_quant_kind(options), device, pooling = to_pooling(text_of(options, "pooling")),
         is_normalised = bool_of(options, "isNormalised"),
         stored = to_stored_tensors(info[2])]() -> std::shared_ptr<TextEncoder> {
          return std::make_shared<model::DecoderEncoder>(
              model::load(config, dtype, device, stored, model::quant_all(kind)), pooling, is_normalised);
        });
  });
}

// One call: its tasks share it, whoever finishes last settles it.
struct Call {
  Call(Napi::Env env, std::shared_ptr<TextEncoder> with, TextBatch texts)
      : deferred(env), encoder(std::move(with)), batch(std::move(texts)) {}

  Deferred deferred;
  std::shared_ptr<TextEncoder> encoder;
  TextBatch batch;
  std::vector<std::vector<int64_t>> parts;
  int num_helpers = 0;  // of each part
  std::vector<float> vectors;
  std::atomic<size_t> next{0};
  std::atomic<int> num_tasks{0};
  std::mutex mutex;
  std::exception_ptr error;
};

void encode_part(Call& call, const std::vector<int64_t>& texts) {
  const int64_t dim = call.encoder->dim();
  std::vector<float> vectors(texts.size() * static_cast<size_t>(dim));
  call.encoder->encode(select(call.batch, texts), vectors.data(), call.num_helpers);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::copy_n(vectors.data() + static_cast<int64_t>(i) * dim, dim, call.vectors.data() + texts[i] * dim);
  }
}

void settle(const std::shared_ptr<Call>& call) {
  if (call->error != nullptr) return call->deferred.reject(call->error);
  call->deferred.resolve([call](Napi::Env env) -> Napi::Value { return to_float32_array(env, call->vectors); });
}

// Encodes the call's next part and comes back later for another.
void take_part(const std::shared_ptr<Call>& call) {
  const size_t part = call->next.fetch_add(1);
  bool goes_on = part < call->parts.size();
  if (goes_on) {
    try {
      encode_part(*call, call->parts[part]);
    } catch (...) {
      std::lock_guard lock(call->mutex);
      if (call->error == nullptr) call->error = std::current_exception();
      call->next.store(call->parts.size());
    }
    goes_on = call->next.load() < call->parts.size();
  }
  if (goes_on) return queue_of(call->encoder->is_on_gpu()).post([call] { take_part(call); });
  if (call->num_tasks.fetch_sub(1) == 1) settle(call);
}

// encoderEncode(encoder, ids, starts, types or undefined): f32 [S, dim]
Napi::Value encoder_encode(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&]() -> Napi::Value {
    auto encoder = held<TextEncoder>(info[0]);
    TextBatch batch = {to_ids(info[1], "ids"), {}, to_ids(info[2], "starts")};
    if (!info[3].IsUndefined()) batch.types = to_ids(info[3], "types");
    check(batch);
    auto call = std::make_shared<Call>(info.Env(), std::move(encoder), std::move(batch));
    const bool is_on_gpu = call->encoder->is_on_gpu();
    TaskQueue& queue = queue_of(is_on_gpu);
    const int num_threads = queue.num_threads();
    const auto num_tokens = static_cast<int64_t>(call->batch.ids.size());
    const int64_t share = num_tokens / (2 * num_threads) + 1;
    const int64_t part_tokens = is_on_gpu ? kGpuPartTokens : std::clamp(share, kFewestPartTokens, kMostPartTokens);
    call->parts = cut(call->batch, part_tokens);
    const auto num_parts = static_cast<int>(call->parts.size());
    const int num_tasks = call->encoder->is_concurrent() ? std::clamp(num_parts, 1, num_threads) : 1;
    call->num_helpers = num_threads / num_tasks - 1;
    call->num_tasks = num_tasks;
    call->vectors.resize(static_cast<size_t>(call->batch.num_texts() * call->encoder->dim()));
    const Napi::Value promise = call->deferred.promise();
    for (int task = 0; task < num_tasks; ++task) queue.post([call] { take_part(call); });
    return promise;
  });
}

Napi::Value encoder_dim(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return Napi::Number::New(info.Env(), static_cast<double>(held<TextEncoder>(info[0])->dim())); });
}

}  // namespace

void export_encoder(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("encoderOpen", encoder_open);
  add("encoderOpenDecoder", encoder_open_decoder);
  add("encoderEncode", encoder_encode);
  add("encoderDim", encoder_dim);
  add("encoderClose", close_handle<TextEncoder>);
}

}  // namespace seekrl::node
