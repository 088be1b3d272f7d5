// The lexicon for JavaScript: texts are cut on the search queue, and what is unknown is learnt there.
#include "node/search_api.h"
#include "node/search_work.h"
#include "search/lexicon.h"
#include "search/passage_store.h"

namespace seekrl::node {

namespace {

using search::CutTexts;
using search::Lexicon;
using search::PassageStore;

constexpr int64_t kTextsPerTask = 64;

// Runs cut_one(i) for each text and gives {cut, unknown}.
template <class CutOne>
Napi::Value post_cut(Napi::Env env, const std::shared_ptr<CutTexts>& cut, CutOne cut_one) {
  return post_ranges(
      env, cut->count(), kTextsPerTask,
      [cut_one = std::move(cut_one)](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) cut_one(i);
      },
      [cut](Napi::Env js) -> Napi::Value {
        auto object = Napi::Object::New(js);
        object["cut"] = wrap(js, cut);
        object["unknown"] = Napi::String::New(js, cut->unknown());
        return object;
      });
}

Napi::Value lexicon_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), std::make_shared<Lexicon>()); });
}

Napi::Value lexicon_bytes(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return Napi::Number::New(info.Env(), static_cast<double>(held<Lexicon>(info[0])->num_bytes())); });
}

Napi::Value lexicon_cut(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto texts = std::make_shared<std::vector<std::string>>(to_texts(info[1], "texts"));
    auto cut = std::make_shared<CutTexts>(held<Lexicon>(info[0]), static_cast<int64_t>(texts->size()));
    return post_cut(info.Env(), cut, [=](int64_t i) { cut->cut(i, (*texts)[static_cast<size_t>(i)]); });
  });
}

// (lexicon, store, first, count): passages as they are indexed, the title before the text.
Napi::Value lexicon_cut_passages(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto store = held<PassageStore>(info[1]);
    const int64_t first = to_integer(info[2], "first"), count = to_integer(info[3], "count");
    require(first >= 0 && count >= 0 && count <= store->count() - first, ErrorCode::kRange, "passages: expected ",
            count, " from ", first, " on, got a store of ", store->count());
    auto cut = std::make_shared<CutTexts>(held<Lexicon>(info[0]), count);
    return post_cut(info.Env(), cut, [=](int64_t i) {
      const auto passage = store->at(first + i);
      cut->cut(i, passage.title);
      cut->cut(i, passage.text);
    });
  });
}

// (cut, words, terms), a line for each unknown token
Napi::Value cut_learn(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [cut = held<CutTexts>(info[0]), words = to_text(info[1], "words"), terms = to_text(info[2], "terms")] {
                  cut->learn(words, terms);
                });
  });
}

Napi::Value cut_words(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto cut = held<CutTexts>(info[0]);
    auto texts = Napi::Array::New(info.Env(), static_cast<size_t>(cut->count()));
    for (int64_t i = 0; i < cut->count(); ++i) {
      std::string words;
      for (const auto* meaning : cut->meanings(i)) {
        if (!words.empty() && !meaning->words.empty()) words += ' ';
        words += meaning->words;
      }
      texts[static_cast<uint32_t>(i)] = Napi::String::New(info.Env(), words);
    }
    return texts;
  });
}

}  // namespace

void export_lexicon(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("lexiconCreate", lexicon_create);
  add("lexiconBytes", lexicon_bytes);
  add("lexiconCut", lexicon_cut);
  add("lexiconCutPassages", lexicon_cut_passages);
  add("cutLearn", cut_learn);
  add("cutWords", cut_words);
  add("cutClose", close_handle<CutTexts>);
}

}  // namespace seekrl::node
