// The engine's parts alone: prefixes that are found again, drafts, and blocks that are counted.
#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"
#include "check.h"
#include "engine/attention/shared_prefix.h"
#include "engine/draft.h"
#include "engine/memory/block_pool.h"
#include "engine/memory/prefix_cache.h"
#include "engine/memory/step_budget.h"

using namespace seekrl;
using namespace seekrl::engine;

namespace {

model::DecoderConfig one_number_a_token() {
  model::DecoderConfig config;
  config.num_layers = 1;
  config.num_kv_heads = 1;
  config.head_dim = 1;
  return config;
}

uint32_t drawn(uint64_t i, uint32_t below) { return philox(3, 9, i)[0] % below; }

}  // namespace

TEST("a prefix is found by exactly its tokens and what stands before them") {
  PrefixCache cache(8, 2);
  const std::vector<int64_t> a = {1, 2}, b = {2, 1};
  const auto first = cache.add(PrefixCache::kNothing, a.data(), 0), second = cache.add(first, b.data(), 1);
  EXPECT(cache.find(PrefixCache::kNothing, a.data())->block == 0);
  EXPECT(cache.find(first, b.data())->name == second && cache.find(first, b.data())->block == 1);
  EXPECT(!cache.find(PrefixCache::kNothing, b.data()) && !cache.find(first, a.data()) && !cache.find(-5, a.data()));
  EXPECT(cache.add(PrefixCache::kNothing, a.data(), 2) == first && !cache.holds(2));
  cache.remove(0);
  EXPECT(!cache.find(PrefixCache::kNothing, a.data()) && !cache.holds(0));
  // Made again it has another name: what went on from the first one is not what goes on from this.
  EXPECT(cache.add(PrefixCache::kNothing, a.data(), 3) != first);
  EXPECT(!cache.find(cache.find(PrefixCache::kNothing, a.data())->name, b.data()));
  cache.clear();
  EXPECT(!cache.holds(1) && !cache.holds(3) && !cache.find(first, b.data()));
}

TEST("a prefix cache answers as a plain map does, whatever is added and removed") {
  PrefixCache cache(16, 3);
  std::map<std::vector<int64_t>, int32_t> truth;
  for (uint64_t i = 0; i < 3000; ++i) {
    const auto block = static_cast<int32_t>(drawn(4 * i, 16));
    const std::vector<int64_t> key = {-static_cast<int64_t>(drawn(4 * i + 1, 3)), drawn(4 * i + 2, 4), 5,
                                      drawn(4 * i + 3, 3)};
    const bool is_held = cache.holds(block);
    EXPECT(is_held == std::any_of(truth.begin(), truth.end(), [&](const auto& each) { return each.second == block; }));
    if (is_held) {
      cache.remove(block);
      std::erase_if(truth, [&](const auto& each) { return each.second == block; });
    } else {
      cache.add(key[0], key.data() + 1, block);
      truth.emplace(key, block);
    }
    const auto found = cache.find(key[0], key.data() + 1);
    EXPECT(found.has_value() == truth.contains(key) && (!found || found->block == truth.at(key)));
  }
}

TEST("a draft is what followed the last three tokens where they stood before, and is taken off whole") {
  Draft draft;
  std::vector<int64_t> tokens = {1, 2, 3, 7, 8, 1, 2, 3, 9, 4, 1, 2, 3};
  const std::vector<int64_t> before = tokens;
  draft.extend(tokens);
  EXPECT(tokens == before);  // nothing is allowed yet
  draft.allow(5);
  draft.extend(tokens);
  EXPECT(draft.num_tokens() == 2);
  EXPECT(draft.take_off(tokens) == std::vector<int64_t>({9, 4}) && tokens == before && draft.num_tokens() == 0);
  draft.learn(2, 2);
  draft.extend(tokens);
  EXPECT(draft.take_off(tokens) == std::vector<int64_t>({9, 4, 1, 2}));
  // It goes on reading where it overlaps what it appends.
  std::vector<int64_t> same(4, 6);
  draft.extend(same);
  EXPECT(same == std::vector<int64_t>(8, 6));
  draft.take_off(same);
  draft.stop();
  draft.extend(tokens);
  EXPECT(tokens == before);
}

TEST("drafts of any length of text stay within it and what is allowed") {
  for (int64_t size = 0; size < 12; ++size) {
    for (int64_t most = 0; most < 10; ++most) {
      Draft draft;
      std::vector<int64_t> tokens(size, 5);
      draft.allow(most);
      for (int round = 0; round < 4; ++round) {
        draft.extend(tokens);
        const auto num_drafted = draft.num_tokens();
        EXPECT(num_drafted <= most && std::ssize(tokens) == size + num_drafted);
        draft.take_off(tokens);
        draft.learn(num_drafted, num_drafted);
      }
    }
  }
}

TEST("drafts that are wrong again and again pause, then are tried anew") {
  Draft draft;
  draft.allow(100);
  int num_steps = 0, num_drafts = 0;
  for (; num_steps < 200; ++num_steps) {
    std::vector<int64_t> tokens(9, 1);
    draft.extend(tokens);
    const auto num_drafted = draft.num_tokens();
    draft.take_off(tokens);
    draft.learn(num_drafted, 0);
    num_drafts += num_drafted > 0 ? 1 : 0;
  }
  EXPECT(num_drafts > 2 && num_drafts < 30);
}

TEST("a block is free when its last reference goes, and what it held is found until it is used again") {
  BlockPool pool(one_number_a_token(), 2, at::kFloat, at::kCPU);
  pool.take_storage(3);
  const std::vector<int64_t> tokens = {4, 5};
  const int32_t block = pool.allocate();
  pool.add_prefix(PrefixCache::kNothing, tokens.data(), block);
  pool.share(block);
  EXPECT(pool.is_shared(block) && pool.num_used() == 1);
  pool.release(block);
  pool.release(block);
  EXPECT(pool.num_used() == 0 && pool.prefixes().find(PrefixCache::kNothing, tokens.data())->block == block);
  const int32_t others[] = {pool.allocate(), pool.allocate()};
  EXPECT(others[0] != block && others[1] != block && pool.prefixes().holds(block));
  EXPECT(pool.allocate() == block && !pool.prefixes().holds(block) && pool.allocate() == -1);
  for (const int32_t each : {block, others[0], others[1]}) pool.release(each);
  EXPECT(pool.num_free() == 3);
}

TEST("a step's budget is half of what ran out of memory, down to one token, and grows back") {
  StepBudget budget({1000, 64});
  EXPECT(budget.shrink(300) && budget.limits().max_batch_tokens == 150);
  for (int i = 0; i < 63; ++i) budget.grow();
  EXPECT(budget.limits().max_batch_tokens == 150);
  budget.grow();
  EXPECT(budget.limits().max_batch_tokens == 300);
  while (budget.shrink(budget.limits().max_batch_tokens)) {
  }
  EXPECT(budget.limits().max_batch_tokens == 1 && budget.limits().max_batch_rows == 64);
  for (int i = 0; i < 64 * 12; ++i) budget.grow();
  EXPECT(budget.limits().max_batch_tokens == 1000);
}

TEST("neighbours that begin with the same blocks share whole splits of the keys that all have behind them") {
  const auto blocks = [](int32_t first, int32_t count, int32_t own) {
    std::vector<int32_t> all;
    for (int32_t i = 0; i < count; ++i) all.push_back(first + i);
    all.push_back(own);
    return all;
  };
  // Blocks of 64 tokens, splits of 256: the first three share 9 blocks, two splits; the next two 4 of others, one of
  // which has not run them all; the last three one split, then two of them two.
  const std::vector<std::vector<int32_t>> of = {blocks(10, 9, 1), blocks(10, 9, 2), blocks(10, 9, 3), blocks(30, 4, 4),
                                                blocks(30, 4, 5), blocks(50, 4, 6), blocks(50, 8, 7), blocks(50, 8, 8)};
  const int64_t before[] = {576, 600, 580, 255, 270, 256, 520, 530}, rows[] = {1, 3, 1, 1, 1, 1, 1, 1};
  std::vector<BatchSequence> batch;
  for (size_t i = 0; i < of.size(); ++i) batch.push_back({of[i], before[i], rows[i]});
  const SharedPrefixes shared = shared_prefixes(batch, 64, 4);
  EXPECT(shared.keys_S == (std::vector<int32_t>{512, 512, 512, 0, 0, 256, 256, 256}));
  const int32_t expected[][4] = {{0, 0, 4, 512}, {0, 4, 1, 512}, {5, 7, 3, 256}};
  EXPECT(shared.tiles.size() == std::size(expected));
  for (size_t i = 0; i < shared.tiles.size(); ++i) {
    const auto& [sequence, first_row, num_positions, num_keys] = shared.tiles[i];
    EXPECT(std::equal(expected[i], expected[i] + 4,
                      std::vector<int32_t>{sequence, first_row, num_positions, num_keys}.begin()));
  }
  EXPECT(shared_prefixes(batch, 64, 1).tiles.empty() && shared_prefixes({}, 64, 4).tiles.empty());
}
