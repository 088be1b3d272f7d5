// What rank 0 tells the others to do with it: words, written and read in one order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/stored/stored_tensor.h"

namespace seekrl::model {

// The first word of a command. What is opened has a number, by which it is named until it ends.
enum class Task : int64_t {
  // the decoder
  kClose,
  kScore,
  kParameter,
  kReadWeights,
  kCopy,
  kEndCopy,
  // its adapters
  kOpenAdapter,
  kCopyAdapter,
  kReadAdapter,
  kAdapterTensor,
  kMerge,
  kEndAdapter,
  // an engine on it
  kOpenEngine,
  kTakeCache,
  kStep,
  kCloseEngine,
  // what learns
  kScoreBatch,
  kOpenTrainer,
  kOpenCritic,
  kAccumulate,
  kValues,
  kUpdate,
  kZeroGradients,
  kGradient,
  kStateTensor,
  kReadState,
  kEndLearner,
};

using Command = std::vector<int64_t>;

class CommandWriter {
 public:
  explicit CommandWriter(Task task) : words_{static_cast<int64_t>(task)} {}

  CommandWriter& number(int64_t value);
  CommandWriter& text(const std::string& value);
  // i64 or f32, on the CPU, or undefined.
  CommandWriter& tensor(const at::Tensor& value);
  CommandWriter& ids(const std::vector<int64_t>& values);
  CommandWriter& texts(const std::vector<std::string>& values);
  CommandWriter& stored(const std::vector<StoredTensor>& tensors);
  // Numbers and unions of them, as they are in memory.
  template <class Value>
  CommandWriter& plain(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    return bytes(&value, sizeof(Value));
  }

  Command take() { return std::move(words_); }

 private:
  CommandWriter& bytes(const void* data, size_t count);

  Command words_;
};

// The command outlives it.
class CommandReader {
 public:
  explicit CommandReader(const Command& command) : at_(command.data() + 1), end_(command.data() + command.size()) {}

  int64_t number();
  std::string text();
  at::Tensor tensor();
  std::vector<int64_t> ids();
  std::vector<std::string> texts();
  std::vector<StoredTensor> stored();
  template <class Value>
  Value plain() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value;
    std::memcpy(static_cast<void*>(&value), words_of(sizeof(Value)), sizeof(Value));
    return value;
  }

 private:
  const int64_t* words_of(size_t num_bytes);

  const int64_t *at_, *end_;
};

}  // namespace seekrl::model
