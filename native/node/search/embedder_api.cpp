// The hashed embedder for JavaScript: a corpus is counted, and texts are embedded, in tasks of a few texts.
#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "search/words/hashed_embedder.h"
#include "search/words/lexicon.h"

namespace seekrl::node {

namespace {

using search::CutTexts;
using search::HashedEmbedder;
using search::IdfCounter;

constexpr int64_t kTextsPerEmbedding = 16;

Napi::Value idf_counter_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), std::make_shared<IdfCounter>()); });
}

Napi::Value idf_counter_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto counter = held<IdfCounter>(info[0]);
    auto texts = held<CutTexts>(info[1]);
    return post_ranges(
        info.Env(), texts->count(), kTextsPerEmbedding,
        [counter, texts](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) counter->add(texts->meanings(i));
        },
        nothing);
  });
}

// (dim, counter or undefined)
Napi::Value embedder_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto idf = info[1].IsUndefined() ? std::vector<float>() : held<IdfCounter>(info[1])->idf();
    return wrap(info.Env(), std::make_shared<HashedEmbedder>(to_integer(info[0], "dim"), std::move(idf)));
  });
}

Napi::Value embedder_open(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [path = to_text(info[0], "path"), verify = to_verify(info[1])] {
          return std::make_shared<HashedEmbedder>(HashedEmbedder::open(path, verify));
        },
        [](Napi::Env env, const std::shared_ptr<HashedEmbedder>& embedder) { return wrap(env, embedder); });
  });
}

Napi::Value embedder_embed(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto embedder = held<HashedEmbedder>(info[0]);
    auto texts = held<CutTexts>(info[1]);
    const int64_t num_texts = texts->count();
    const int64_t dim = embedder->dim();
    auto vectors = std::make_shared<std::vector<float>>(static_cast<size_t>(num_texts * dim));
    return post_ranges(
        info.Env(), num_texts, kTextsPerEmbedding,
        [embedder, texts, vectors, dim](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            embedder->embed(texts->meanings(i), vectors->data() + i * dim);
          }
        },
        [vectors](Napi::Env env) { return to_float32_array(env, *vectors); });
  });
}

Napi::Value embedder_save(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [embedder = held<HashedEmbedder>(info[0]), path = to_text(info[1], "path")] { embedder->save(path); });
  });
}

Napi::Value embedder_dim(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return Napi::Number::New(info.Env(), static_cast<double>(held<HashedEmbedder>(info[0])->dim()));
  });
}

}  // namespace

void export_embedder(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("idfCounterCreate", idf_counter_create);
  add("idfCounterAdd", idf_counter_add);
  add("embedderCreate", embedder_create);
  add("embedderOpen", embedder_open);
  add("embedderEmbed", embedder_embed);
  add("embedderSave", embedder_save);
  add("embedderDim", embedder_dim);
  add("embedderClose", close_handle<HashedEmbedder>);
}

}  // namespace seekrl::node
