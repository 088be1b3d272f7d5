// The lexicon for JavaScript: texts are cut on the search queue, and what is unknown is learnt there.
#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "search/passages/passage_store.h"
#include "search/passages/phrase_table.h"
#include "search/words/lexicon.h"

namespace seekrl::node {

namespace {

using search::CutTexts;
using search::Lexicon;
using search::PassageStore;
using search::PhraseTable;
using search::Separators;

constexpr int64_t kTextsPerCut = 64;

// Runs cut_one(i) for each text and gives {cut, unknown}.
template <class CutOne>
Napi::Value post_cut(Napi::Env env, const std::shared_ptr<CutTexts>& cut, CutOne cut_one) {
  return post_ranges(
      env, cut->count(), kTextsPerCut,
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
  return guard(info.Env(), [&] {
    const bool is_words = to_text(info[0], "separators") == "words";
    return wrap(info.Env(), std::make_shared<Lexicon>(is_words ? Separators::kWords : Separators::kSpaces));
  });
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

// (lexicon, store, first, count, has_title): the text, behind its title as it is indexed or alone.
Napi::Value lexicon_cut_passages(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto store = held<PassageStore>(info[1]);
    const int64_t first = to_integer(info[2], "first"), count = to_integer(info[3], "count");
    require(first >= 0 && count >= 0 && count <= store->count() - first, ErrorCode::kRange, "passages: expected ",
            count, " from ", first, " on, got a store of ", store->count());
    const bool has_title = to_bool(info[4], "hasTitle");
    auto cut = std::make_shared<CutTexts>(held<Lexicon>(info[0]), count);
    return post_cut(info.Env(), cut, [=](int64_t i) {
      const auto passage = store->at(first + i);
      if (has_title) cut->cut_title(i, passage.title);
      cut->cut(i, passage.text);
    });
  });
}

// (cut, words, terms, letters, stops), a line for each unknown token
Napi::Value cut_learn(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [cut = held<CutTexts>(info[0]), words = to_text(info[1], "words"), terms = to_text(info[2], "terms"),
                 letters = to_text(info[3], "letters"),
                 stops = to_text(info[4], "stops")] { cut->learn({words, terms, letters, stops}); });
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

Napi::Value phrases_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] { return wrap(info.Env(), std::make_shared<PhraseTable>(*held<CutTexts>(info[0]))); });
}

Napi::Value phrases_mark(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    auto phrases = held<PhraseTable>(info[0]);
    auto texts = held<CutTexts>(info[1]);
    return post_ranges(
        info.Env(), texts->count(), kTextsPerCut,
        [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) phrases->mark(texts->meanings(i));
        },
        nothing);
  });
}

Napi::Value phrases_marked(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return to_typed_array<Napi::Uint8Array>(info.Env(), held<PhraseTable>(info[0])->marked()); });
}

// Pairs of a text's number and a phrase's.
Napi::Value phrases_in(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(
        info.Env(), search_queue(),
        [phrases = held<PhraseTable>(info[0]), texts = held<CutTexts>(info[1])] {
          std::vector<int32_t> pairs;
          for (int64_t i = 0; i < texts->count(); ++i) {
            for (const uint32_t phrase : phrases->find(texts->meanings(i))) {
              pairs.push_back(static_cast<int32_t>(i));
              pairs.push_back(static_cast<int32_t>(phrase));
            }
          }
          return pairs;
        },
        [](Napi::Env env, const std::vector<int32_t>& pairs) { return to_typed_array<Napi::Int32Array>(env, pairs); });
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
  add("phrasesCreate", phrases_create);
  add("phrasesMark", phrases_mark);
  add("phrasesMarked", phrases_marked);
  add("phrasesIn", phrases_in);
}

}  // namespace seekrl::node
