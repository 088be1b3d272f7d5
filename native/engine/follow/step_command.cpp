// Words in the order in which they are read.
#include "engine/follow/step_command.h"

#include <algorithm>
#include <utility>

namespace seekrl::engine {

namespace {

using model::Command;
using model::Task;

// Of the tokens before those that are run a follower needs only to know how many they are, and of those behind them the
// first, which may be scored.
int64_t told_end(int64_t num_cached, int64_t num_run, int64_t num_tokens) {
  return std::min(num_tokens, num_cached + num_run + 1);
}

void add_row(Command& to, const Row& row) {
  const Sequence& from = *row.sequence;
  const Span& span = from.span;
  const auto is_generating = static_cast<int64_t>(from.is_generating());
  const int64_t adapter = from.adapter ? from.adapter->id() : 0;
  to.insert(to.end(), {adapter, row.num_tokens, row.num_samples, from.num_cached, from.num_tokens(), is_generating,
                       span.num_given, std::ssize(span.logprobs), span.options.num_top, std::ssize(from.blocks)});
  to.insert(to.end(), from.blocks.begin(), from.blocks.end());
  const int64_t end = told_end(from.num_cached, row.num_tokens, from.num_tokens());
  to.insert(to.end(), from.tokens.begin() + from.num_cached, from.tokens.begin() + end);
}

class Reader {
 public:
  explicit Reader(const Command& command) : at_(command.data()) {}
  int64_t next() { return *at_++; }
  const int64_t* take(int64_t count) { return std::exchange(at_, at_ + count); }

 private:
  const int64_t* at_;
};

void read_row(Reader& from, const AdapterOf& adapter_of, ToldStep& step) {
  Sequence& to = *step.sequences.emplace_back(std::make_unique<Sequence>());
  to.adapter = adapter_of(from.next());
  const int64_t num_run = from.next(), num_samples = from.next();
  to.num_cached = from.next();
  to.tokens.resize(static_cast<size_t>(from.next()));
  to.state = from.next() != 0 ? SequenceState::kRunning : SequenceState::kWaiting;
  to.span.num_given = from.next();
  to.span.logprobs.resize(static_cast<size_t>(from.next()));
  to.span.options.num_top = from.next();
  const int64_t num_blocks = from.next();
  const int64_t* const blocks = from.take(num_blocks);
  to.blocks.assign(blocks, blocks + num_blocks);
  const int64_t count = told_end(to.num_cached, num_run, to.num_tokens()) - to.num_cached;
  std::copy_n(from.take(count), count, to.tokens.begin() + to.num_cached);
  step.rows.push_back({&to, num_run, num_samples});
}

}  // namespace

Command open_command(int64_t engine, int64_t block_tokens, CacheDtype cache_dtype) {
  return {static_cast<int64_t>(Task::kOpenEngine), engine, block_tokens, static_cast<int64_t>(cache_dtype)};
}

Command cache_command(int64_t engine, const WantedCache& wanted) {
  return {static_cast<int64_t>(Task::kTakeCache), engine, wanted.num_blocks, wanted.step_bytes};
}

WantedCache to_cache(const Command& command) { return {command[2], command[3]}; }

Command step_command(int64_t engine, const BlockPool::Copies& copies, const std::vector<Row>& rows) {
  Command command = {static_cast<int64_t>(Task::kStep), engine, std::ssize(copies)};
  for (const auto& [from, to] : copies) command.insert(command.end(), {from, to});
  command.push_back(std::ssize(rows));
  for (const Row& row : rows) add_row(command, row);
  return command;
}

Command close_command(int64_t engine) { return {static_cast<int64_t>(Task::kCloseEngine), engine}; }

ToldStep to_step(const Command& command, const AdapterOf& adapter_of) {
  Reader from(command);
  from.take(2);
  ToldStep step;
  for (int64_t count = from.next(); count > 0; --count) {
    const auto block = static_cast<int32_t>(from.next());
    step.copies.emplace_back(block, static_cast<int32_t>(from.next()));
  }
  for (int64_t count = from.next(); count > 0; --count) read_row(from, adapter_of, step);
  return step;
}

}  // namespace seekrl::engine
