// The engine's options, counters and reports as JavaScript values.
#pragma once

#include <napi.h>

#include "engine/engine.h"

namespace seekrl::node {

// {numBlocks, blockTokens, maxTokens, maxBatchTokens, maxBatchRows, promptLookup, cacheDtype: "model" | "e4m3"}
engine::EngineOptions to_engine_options(const Napi::Object& object);

// {bytes: Uint8Array, starts: Int32Array}
engine::TokenBytes to_token_bytes(const Napi::Object& object);

// {maxTokens, sampling, stopIds, stop, isStreamed, entropies, topLogprobs?, maskWords}
engine::GenerateOptions to_generate_options(const Napi::Object& object);

// {sequences, counts, finishes, stopIndices, cutBytes, versions, reused, topCounts, tokens, logprobs, entropies,
// topTokens, topLogprobs, errors}
Napi::Object from_report(Napi::Env env, const engine::Report& report);

Napi::Object from_stats(Napi::Env env, const engine::EngineStats& stats);

}  // namespace seekrl::node
