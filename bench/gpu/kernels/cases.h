// What is measured and checked: one case a row of the table.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "device.h"
#include "kernels/cuda/library.h"

namespace seekrl::bench {

enum class Kind { kFloat, kBf16, kF16, kInt, kDouble, kByte, kDrawn };

inline const char* name_of(cuda::Dtype dtype) { return dtype == cuda::Dtype::kF16 ? "f16" : "bf16"; }

inline Kind kind_of(cuda::Dtype dtype) {
  return dtype == cuda::Dtype::kF16 ? Kind::kF16 : (dtype == cuda::Dtype::kBf16 ? Kind::kBf16 : Kind::kFloat);
}

// What a case leaves, and how far a GPU's may be from the emulator's: of the root mean squares; 0: the same bits.
struct Output {
  std::string name;
  const void* data;
  int64_t count;
  Kind kind;
  double tolerance;
};

// Calls of the library in order.
class Calls {
 public:
  void add(const char* function, Launch call) {
    covered().insert(function);
    calls_.push_back(std::move(call));
  }
  cuda::Status operator()(void* stream) const {
    for (const Launch& call : calls_) {
      if (const cuda::Status status = call(stream); status != nullptr) return status;
    }
    return nullptr;
  }
  void append(const Calls& more) { calls_.insert(calls_.end(), more.calls_.begin(), more.calls_.end()); }
  // Every function that was added, for the check that none is forgotten.
  static std::set<std::string>& covered() {
    static std::set<std::string> names;
    return names;
  }

 private:
  std::vector<Launch> calls_;
};
#define SEEKRL_ADD(calls, function, ...) \
  (calls).add(#function, [=](void* stream) { return cuda::function(__VA_ARGS__, stream); })

struct Prepared {
  Calls run;
  std::vector<Output> outputs;
  // At any size, against what the host computes of some outputs: what is wrong, or nothing.
  std::function<std::string()> wrong = nullptr;
};

// Small ones are held against fixtures, those of real sizes are rows of the table; some are both.
enum class Use { kCheck, kTable, kBoth };

struct Case {
  std::string name;
  double items = 0;  // of a run: what the rate counts
  std::string item = {};
  double bytes = 0, flop = 0;  // that a run cannot do without
  double memory = 0;           // bytes
  std::function<Prepared(Memory&)> prepare;
  Use use = Use::kBoth;
};

using Cases = std::vector<Case>;

// `is_tiny`: shapes for the emulator, and for checks.
void add_decode_cases(Cases& cases, bool is_tiny);
void add_prefill_cases(Cases& cases, bool is_tiny);
void add_training_cases(Cases& cases, bool is_tiny);
void add_loss_cases(Cases& cases, bool is_tiny);
void add_optimiser_cases(Cases& cases, bool is_tiny);
void add_encoder_cases(Cases& cases, bool is_tiny);
void add_search_cases(Cases& cases, bool is_tiny);
void add_product_cases(Cases& cases, bool is_tiny);
void add_weight_cases(Cases& cases, bool is_tiny);
void add_row_cases(Cases& cases, bool is_tiny);
void add_width_cases(Cases& cases, bool is_tiny);

}  // namespace seekrl::bench
