// Statistics of a corpus for JavaScript: texts that it has, or passages of a store.
#include <string_view>

#include "node/search/search_api.h"
#include "node/search/search_work.h"
#include "search/passages/corpus_stats.h"
#include "search/passages/passage_store.h"

namespace seekrl::node {

namespace {

using search::CorpusStats;
using search::CorpusSummary;
using search::PassageStore;

Napi::Value corpus_stats_create(const Napi::CallbackInfo& info) {
  return guard(info.Env(),
               [&] { return wrap(info.Env(), std::make_shared<CorpusStats>(to_integer(info[0], "maxWords"))); });
}

// The texts come as one string, each ended by NUL, since a string costs more to cross than its letters. The caller
// waits for each call before the next: passages are numbered in the order of the calls.
Napi::Value corpus_stats_add(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(), [stats = held<CorpusStats>(info[0]), texts = to_text(info[1], "texts")] {
      std::string_view rest = texts;
      for (size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
        stats->add(rest.substr(0, end));
        rest.remove_prefix(end + 1);
      }
    });
  });
}

// (stats, store, begin, end)
Napi::Value corpus_stats_add_stored(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    return post(info.Env(), search_queue(),
                [stats = held<CorpusStats>(info[0]), store = held<PassageStore>(info[1]),
                 begin = to_integer(info[2], "begin"), end = to_integer(info[3], "end")] {
                  for (int64_t i = begin; i < end; ++i) stats->add(store->text(i));
                });
  });
}

Napi::Value summary_to_js(Napi::Env env, const CorpusSummary& summary) {
  auto object = Napi::Object::New(env);
  const auto put = [&](const char* name, int64_t count) { object[name] = static_cast<double>(count); };
  put("numPassages", summary.num_passages);
  put("numWords", summary.num_words);
  put("numLongestWords", summary.num_longest_words);
  put("numEmpty", summary.num_empty);
  put("numOverLong", summary.num_over_long);
  put("numRepeats", summary.num_repeats);
  std::vector<int32_t> repeats;
  for (const auto& [first, again] : summary.repeats) repeats.insert(repeats.end(), {first, again});
  object["empty"] = to_typed_array<Napi::Int32Array>(env, summary.empty);
  object["overLong"] = to_typed_array<Napi::Int32Array>(env, summary.over_long);
  object["repeats"] = to_typed_array<Napi::Int32Array>(env, repeats);
  return object;
}

Napi::Value corpus_stats_summary(const Napi::CallbackInfo& info) {
  return guard(info.Env(), [&] {
    const int64_t num_examples = to_integer(info[1], "numExamples");
    require(num_examples >= 0, ErrorCode::kRange, "numExamples: expected at least 0, got ", num_examples);
    return post(
        info.Env(), search_queue(),
        [stats = held<CorpusStats>(info[0]), num_examples] {
          return stats->summary(static_cast<size_t>(num_examples));
        },
        summary_to_js);
  });
}

}  // namespace

void export_corpus(Napi::Env env, Napi::Object exports) {
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports[name] = Napi::Function::New(env, function, name);
  };
  add("corpusStatsCreate", corpus_stats_create);
  add("corpusStatsAdd", corpus_stats_add);
  add("corpusStatsAddStored", corpus_stats_add_stored);
  add("corpusStatsSummary", corpus_stats_summary);
  add("corpusStatsClose", close_handle<CorpusStats>);
}

}  // namespace seekrl::node
