// What comes from JavaScript was checked there; only lengths that must agree are looked at again.
#include "node/model/engine_values.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "node/guard.h"
#include "node/values.h"

namespace seekrl::node {

namespace {

// {temperature, topP, topK, minP, repetitionPenalty, presencePenalty, frequencyPenalty, biasedIds, biases, badWords}
engine::SamplingOptions to_sampling_options(const Napi::Object& object) {
  engine::SamplingOptions options;
  options.temperature = number_of(object, "temperature");
  options.top_p = number_of(object, "topP");
  options.top_k = integer_of(object, "topK");
  options.min_p = number_of(object, "minP");
  options.repetition_penalty = number_of(object, "repetitionPenalty");
  options.presence_penalty = number_of(object, "presencePenalty");
  options.frequency_penalty = number_of(object, "frequencyPenalty");
  const std::vector<int64_t> ids = to_ids(object.Get("biasedIds"), "biasedIds");
  const std::vector<float> biases = to_floats(object.Get("biases"), "biases");
  require(ids.size() == biases.size(), ErrorCode::kShape, "biases: expected ", ids.size(), ", got ", biases.size());
  for (size_t i = 0; i < ids.size(); ++i) options.logit_bias.emplace_back(ids[i], biases[i]);
  const auto words = object.Get("badWords").As<Napi::Array>();
  for (uint32_t i = 0; i < words.Length(); ++i) options.bad_words.push_back(to_ids(words.Get(i), "badWords"));
  return options;
}

}  // namespace

Napi::Object from_report(Napi::Env env, const engine::Report& report) {
  using engine::News;
  const auto ints = [&](auto member) {
    std::vector<int32_t> values;
    for (const News& news : report.news) values.push_back(static_cast<int32_t>(news.*member));
    return to_typed_array<Napi::Int32Array>(env, values);
  };
  Napi::Object event = Napi::Object::New(env);
  event["sequences"] = ints(&News::sequence);
  event["counts"] = ints(&News::num_tokens);
  event["finishes"] = ints(&News::finish);
  event["stopIndices"] = ints(&News::stop_index);
  event["cutBytes"] = ints(&News::cut_bytes);
  event["versions"] = ints(&News::weights_version);
  event["reused"] = ints(&News::num_reused);
  event["topCounts"] = ints(&News::num_top);
  event["tokens"] = to_typed_array<Napi::Int32Array>(env, report.tokens);
  event["logprobs"] = to_float32_array(env, report.logprobs);
  std::vector<float> entropies = report.entropies;
  if (!entropies.empty()) entropies.resize(report.tokens.size());  // later news may have had none
  event["entropies"] = to_float32_array(env, entropies);
  std::vector<int32_t> top_tokens;
  std::vector<float> top_logprobs;
  for (const auto& [token, logprob] : report.top) {
    top_tokens.push_back(token);
    top_logprobs.push_back(logprob);
  }
  event["topTokens"] = to_typed_array<Napi::Int32Array>(env, top_tokens);
  event["topLogprobs"] = to_float32_array(env, top_logprobs);
  Napi::Array errors = Napi::Array::New(env);
  for (uint32_t i = 0; i < report.news.size(); ++i) {
    if (report.news[i].error != nullptr) errors[i] = to_js_error(env, report.news[i].error).Value();
  }
  event["errors"] = errors;
  return event;
}

engine::EngineOptions to_engine_options(const Napi::Object& object) {
  return {integer_of(object, "numBlocks"),
          integer_of(object, "cacheBytes"),
          integer_of(object, "blockTokens"),
          integer_of(object, "maxTokens"),
          {integer_of(object, "maxBatchTokens"), integer_of(object, "maxBatchRows")},
          bool_of(object, "promptLookup"),
          text_of(object, "cacheDtype") == "e4m3" ? engine::CacheDtype::kE4m3 : engine::CacheDtype::kModel};
}

engine::TokenBytes to_token_bytes(const Napi::Object& object) {
  const Napi::Value undrawn = object.Get("undrawn");
  return {to_bytes(object.Get("bytes"), "bytes"), to_ids(object.Get("starts"), "starts"),
          undrawn.IsUndefined() ? std::vector<int64_t>{} : to_ids(undrawn, "undrawn")};
}

engine::GenerateOptions to_generate_options(const Napi::Object& object) {
  engine::GenerateOptions options;
  options.max_tokens = integer_of(object, "maxTokens");
  options.sampling = to_sampling_options(to_object(object.Get("sampling"), "sampling"));
  options.stop_ids = to_ids(object.Get("stopIds"), "stopIds");
  options.is_streamed = bool_of(object, "isStreamed");
  options.wants_entropies = bool_of(object, "entropies");
  if (!object.Get("topLogprobs").IsUndefined()) options.num_top = integer_of(object, "topLogprobs");
  if (const int64_t words = integer_of(object, "maskWords"); words > 0) {
    options.masks = std::make_shared<engine::MaskSlot>(words);
  }
  std::vector<std::string> strings = to_texts(object.Get("stop"), "stop");
  if (!strings.empty()) options.stop_strings = std::make_shared<const engine::StopStrings>(std::move(strings));
  return options;
}

Napi::Object from_stats(Napi::Env env, const engine::EngineStats& stats) {
  const std::pair<const char*, int64_t> fields[] = {{"numSteps", stats.num_steps},
                                                    {"numGenerated", stats.num_generated},
                                                    {"numPrefilled", stats.num_prefilled},
                                                    {"numDrafted", stats.num_drafted},
                                                    {"numAccepted", stats.num_accepted},
                                                    {"numReused", stats.num_reused},
                                                    {"numRows", stats.num_rows},
                                                    {"numPreemptions", stats.num_preemptions},
                                                    {"numReplays", stats.num_replays},
                                                    {"numSwapped", stats.num_swapped},
                                                    {"numOutOfMemory", stats.num_out_of_memory},
                                                    {"numSequences", stats.num_sequences},
                                                    {"numBlocks", stats.num_blocks},
                                                    {"numUsedBlocks", stats.num_used_blocks}};
  Napi::Object object = Napi::Object::New(env);
  for (const auto& [name, value] : fields) object[name] = Napi::Number::New(env, static_cast<double>(value));
  object["graphRefusal"] = stats.graph_refusal.empty() ? env.Undefined() : Napi::String::New(env, stats.graph_refusal);
  return object;
}

}  // namespace seekrl::node
