// What the scheduler decides, without a model.
#include "engine/scheduler.h"

#include <memory>
#include <vector>

#include "check.h"

using namespace seekrl;
using namespace seekrl::engine;

namespace {

constexpr int64_t kBlockTokens = 4, kNoLimit = 1000;

// Sequences that decode, a number of tokens each, all but the last cached; a pool and steps of a few rows.
struct Batch {
  Batch(int64_t num_blocks, int64_t max_rows)
      : pool(config(), kBlockTokens, at::kFloat, at::kCPU), scheduler(pool, swap, sequences, {64, max_rows}) {
    pool.set_num_blocks(num_blocks);
  }

  static model::DecoderConfig config() {
    model::DecoderConfig config;
    config.num_layers = config.num_kv_heads = config.head_dim = 1;
    return config;
  }

  Sequence& add(int64_t num_tokens, int64_t max_tokens) {
    auto sequence = std::make_shared<Sequence>();
    sequence->id = static_cast<int32_t>(sequences.size());
    sequence->tokens.assign(num_tokens, 7);
    sequence->state = SequenceState::kRunning;
    sequence->span.options.max_tokens = max_tokens;
    while (std::ssize(sequence->blocks) < pool.blocks_for(num_tokens - 1)) sequence->blocks.push_back(pool.allocate());
    sequence->num_cached = num_tokens - 1;
    sequences.emplace(sequence->id, sequence);
    scheduler.activate(*sequence);
    return *sequence;
  }

  static void end(Sequence& sequence) {
    sequence.state = SequenceState::kWaiting;
    sequence.last_step = -1;
  }

  BlockPool pool;
  SwapSpace swap;
  Scheduler::Sequences sequences;
  Scheduler scheduler;
};

}  // namespace

TEST("rows that go on by themselves have blocks for what is ahead, as far as their spans and the limit go") {
  Batch batch(20, 8);
  Sequence &plain = batch.add(3, 50), &short_span = batch.add(8, 1), &at_limit = batch.add(12, 50);
  EXPECT(batch.scheduler.next().size() == 3);
  EXPECT(batch.scheduler.extend(2, 12));
  EXPECT(plain.blocks.size() == 2);       // 5 tokens
  EXPECT(short_span.blocks.size() == 3);  // 9
  EXPECT(at_limit.blocks.size() == 3);    // 12
  const int64_t num_free = batch.pool.num_free();
  EXPECT(batch.scheduler.extend(2, 12) && batch.pool.num_free() == num_free);
  // More than there are: nothing is reserved.
  EXPECT(!batch.scheduler.extend(100, kNoLimit) && batch.pool.num_free() == num_free);
}

TEST("who found no place holds nobody up until a row ends, another comes or a block is free") {
  Batch batch(20, 2);
  Sequence &first = batch.add(3, 50), &second = batch.add(3, 50);
  EXPECT(batch.scheduler.next().size() == 2 && batch.scheduler.extend(1, kNoLimit));
  Sequence& third = batch.add(3, 50);
  EXPECT(!batch.scheduler.extend(1, kNoLimit));  // it might have had a place
  EXPECT(batch.scheduler.next().size() == 2 && batch.scheduler.extend(1, kNoLimit));
  const int32_t block = batch.pool.allocate();
  EXPECT(batch.scheduler.next().size() == 2 && batch.scheduler.extend(1, kNoLimit));
  batch.pool.release(block);
  EXPECT(!batch.scheduler.extend(1, kNoLimit));
  EXPECT(batch.scheduler.next().size() == 2 && batch.scheduler.extend(1, kNoLimit));
  Batch::end(second);
  EXPECT(!batch.scheduler.extend(1, kNoLimit));
  EXPECT(batch.scheduler.next().size() == 2 && third.last_step == first.last_step);
  EXPECT(batch.scheduler.extend(1, kNoLimit));
}
