// The engine and its scheduler: tokens do not depend on how much room there is, on drafts or on what is shared.
#include "engine/engine.h"

#include <ATen/core/Tensor.h>

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "tiny_decoder.h"

using namespace seekrl;
using namespace seekrl::engine;

namespace {

constexpr int64_t kVocab = 23;

TokenBytes token_bytes() {
  TokenBytes made;
  for (int64_t token = 0; token <= kVocab; ++token) {
    made.starts.push_back(token);
    if (token < kVocab) made.bytes.push_back(static_cast<char>('a' + token));
  }
  return made;
}

struct Room {
  int64_t num_blocks = 200;
  Limits limits = {512, 64};
  bool drafts = false;
};

EngineOptions options_of(const Room& room) { return {room.num_blocks, 0, 16, 160, room.limits, room.drafts}; }

GenerateOptions generation(int64_t max_tokens, double temperature = 1) {
  GenerateOptions options;
  options.max_tokens = max_tokens;
  options.sampling.temperature = temperature;
  return options;
}

std::vector<int64_t> prompt(uint64_t seed, int64_t length) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back(philox(seed, 1, static_cast<uint64_t>(i))[0] % kVocab);
  return tokens;
}

// What each sequence was told of, to the bit.
struct Told {
  std::map<int32_t, std::vector<int32_t>> tokens;
  std::map<int32_t, std::vector<float>> logprobs;
  std::map<int32_t, Finish> finishes;
  bool operator==(const Told&) const = default;
};

void add(Told& told, const Report& report) {
  size_t next = 0;
  for (const News& news : report.news) {
    for (int32_t i = 0; i < news.num_tokens; ++i, ++next) {
      told.tokens[news.sequence].push_back(report.tokens[next]);
      told.logprobs[news.sequence].push_back(report.logprobs[next]);
    }
    if (news.finish != Finish::kNone) told.finishes[news.sequence] = news.finish;
  }
}

void run(Engine& engine, Told& told) {
  for (int steps = 0; engine.has_work() && steps < 10'000; ++steps) engine.step();
  EXPECT(!engine.has_work());
  add(told, engine.take_report());
}

// Prompts that begin alike, forks of one of them, a second turn, a text taken back; all told.
Told conversation(at::ScalarType dtype, const Room& room) {
  Engine engine(test::tiny_decoder(dtype), options_of(room), token_bytes());
  Told told;
  for (int32_t id = 0; id < 6; ++id) {
    std::vector<int64_t> tokens = prompt(1, 40);
    const std::vector<int64_t> own = prompt(10 + id, 3 + 7 * id);
    tokens.insert(tokens.end(), own.begin(), own.end());
    engine.open(id, tokens, 100 + id);
    engine.generate(id, generation(20 + id));
  }
  for (int32_t child = 6; child < 9; ++child) {
    engine.fork(2, child, 200 + child);
    engine.generate(child, generation(9, child == 6 ? 0 : 1));
  }
  engine.close(2);
  run(engine, told);
  for (int32_t id = 0; id < 2; ++id) {
    engine.append(id, prompt(50 + id, 10));
    engine.generate(id, generation(12));
  }
  engine.truncate(3, 30, 7);
  engine.generate(3, generation(12));
  engine.score(4, prompt(60, 21));
  run(engine, told);
  for (int32_t id = 0; id < 9; ++id) engine.close(id);
  EXPECT(engine.stats().num_used_blocks == 0 && engine.stats().num_sequences == 0);
  return told;
}

}  // namespace

TEST("tokens and log-probabilities do not depend on blocks, batches or drafts, to the bit") {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Told expected = conversation(dtype, {});
    EXPECT(expected.tokens.size() == 8 && expected.finishes.at(2) == Finish::kAborted);
    EXPECT(conversation(dtype, {.num_blocks = 12}) == expected);
    EXPECT(conversation(dtype, {.limits = {7, 64}}) == expected);
    EXPECT(conversation(dtype, {.limits = {64, 1}}) == expected);
    EXPECT(conversation(dtype, {.drafts = true}) == expected);
    EXPECT(conversation(dtype, {.num_blocks = 11, .limits = {9, 3}, .drafts = true}) == expected);
  }
}

TEST("what sequences leave is found again by the next ones, and is forgotten with the weights") {
  const auto decoder = test::tiny_decoder(at::kFloat);
  Engine engine(decoder, options_of({}), token_bytes());
  Told told;
  const auto generate = [&](int32_t id) {
    engine.open(id, prompt(1, 40), 5);
    engine.generate(id, generation(6));
    run(engine, told);
    engine.close(id);
  };
  generate(0);
  EXPECT(engine.stats().num_reused == 0);
  generate(1);
  EXPECT(engine.stats().num_reused == 32);
  decoder->weights_changed();
  generate(2);
  EXPECT(engine.stats().num_reused == 32);
  EXPECT(told.tokens[1] == told.tokens[0] && told.tokens[2] == told.tokens[0]);
}

TEST("tokens that a span's own call computes are not told of as reused, by forks that wait for them neither") {
  Engine engine(test::tiny_decoder(at::kFloat), options_of({}), token_bytes());
  std::map<int32_t, int32_t> reused;
  const auto run_all = [&] {
    while (engine.has_work()) engine.step();
    for (const News& news : engine.take_report().news) reused[news.sequence] = news.num_reused;
  };
  engine.open(0, prompt(1, 40), 5);
  for (int32_t fork = 1; fork < 4; ++fork) {
    engine.fork(0, fork, 5 + fork);
    engine.generate(fork, generation(6));
  }
  run_all();
  EXPECT((reused == std::map<int32_t, int32_t>{{1, 0}, {2, 0}, {3, 0}}));
  engine.fork(0, 4, 9);
  engine.generate(4, generation(6));
  engine.append(1, prompt(2, 5));
  engine.generate(1, generation(6));
  run_all();
  EXPECT(reused[4] == 39 && reused[1] == 45);
}

TEST("drafts run tokens ahead where a text repeats itself") {
  Engine engine(test::tiny_decoder(at::kFloat), options_of({.drafts = true}), token_bytes());
  Told told;
  engine.open(0, prompt(1, 20), 5);
  engine.generate(0, generation(120, 0));  // a greedy text of 23 tokens soon goes in a circle
  run(engine, told);
  EXPECT(told.tokens[0].size() == 120 && engine.stats().num_accepted > 30);
  EXPECT(engine.stats().num_steps < 100);
}

TEST("random commands in little room end every span, and leave no block in use") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Engine engine(test::tiny_decoder(at::kFloat), options_of({10, {24, 4}, seed % 2 == 0}), token_bytes());
    std::map<int32_t, int64_t> lengths;  // of the open ones
    int32_t next = 0;
    for (uint64_t i = 0; i < 300; ++i) {
      const auto draws = philox(seed, 77, i);
      const uint32_t what = lengths.size() < 3 ? 0 : draws[0] % 6;
      const int32_t id = lengths.empty() ? 0 : std::next(lengths.begin(), draws[1] % lengths.size())->first;
      if (what == 0) {
        lengths[next] = 1 + draws[2] % 40;
        engine.open(next, prompt(draws[3], lengths[next]), i);
        ++next;
      } else if (what == 1) {
        engine.fork(id, next, i);
        lengths[next++] = lengths[id];
      } else if (what == 2 || lengths.size() > 8) {
        engine.close(id);
        lengths.erase(id);
      } else if (what == 3) {
        lengths[id] = 1 + draws[2] % lengths[id];
        engine.truncate(id, lengths[id], std::nullopt);
      } else if (lengths[id] < 120) {
        Told told;
        if (what == 4) engine.score(id, prompt(draws[3], 1 + draws[2] % 12));
        if (what == 5) engine.generate(id, generation(1 + draws[2] % 12));
        if (draws[3] % 3 == 0) {
          engine.step();
          engine.cancel(id, Finish::kAborted);
        }
        run(engine, told);
        EXPECT(told.finishes.at(id) != Finish::kFailed);
        if (what == 5) lengths[id] += std::ssize(told.tokens[id]);
      }
    }
    for (const auto& [id, length] : lengths) engine.close(id);
    EXPECT(engine.stats().num_used_blocks == 0 && engine.stats().num_sequences == 0);
  }
}
