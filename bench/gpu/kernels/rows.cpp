// What has a row or an element of its own: draws, losses of policies and critics, AdamW.
#include <cmath>

#include "cases.h"

namespace seekrl::bench {

using cuda::Dtype;
using kernels::AdamWSlice;
using kernels::kMomentBlock;

namespace {

cuda::SampleRow options_of(int64_t row) {
  cuda::SampleRow options = {};
  options.seed = static_cast<uint64_t>(row);
  options.temperature = row % 4 == 0 ? 0.7 : 1;
  options.top_p = row % 4 == 1 ? 0.9 : 1;
  options.top_k = row % 4 == 2 ? 40 : 0;
  options.min_p = row % 4 == 3 ? 0.05 : 0;
  options.repetition = 1;
  options.wants_entropy = 1;
  return options;
}

Prepared prepare_draw(Memory& memory, int64_t num_rows, int64_t vocab_size) {
  std::vector<cuda::SampleRow> options;
  std::vector<int32_t> num_tokens;
  for (int64_t row = 0; row < num_rows; ++row) {
    options.push_back(options_of(row));
    num_tokens.push_back(static_cast<int32_t>(100 + row));
  }
  auto* const drawn = memory.empty<cuda::DrawnToken>(num_rows);
  const cuda::SampleCall call = {
      drawn,     memory.floats(num_rows * vocab_size, 8), memory.copy_of(options), memory.copy_of(num_tokens), num_rows,
      vocab_size};
  Calls run;
  SEEKRL_ADD(run, sample, call);
  // A token, a log-probability and an entropy: three words, of which the token's must be the same.
  return {run, {{"drawn", drawn, num_rows * 3, Kind::kDrawn, 1e-5}}};
}

Prepared prepare_policy(Memory& memory, int64_t num_rows) {
  float *const logprob_grad = memory.floats(num_rows), *const entropy_grad = memory.floats(num_rows);
  float* const values_grad = memory.floats(num_rows);
  auto* const stats = memory.empty<kernels::LossStats>(1);
  auto* const value_stats = memory.empty<kernels::ValueStats>(1);
  const cuda::PolicyRows rows = {logprob_grad,
                                 entropy_grad,
                                 stats,
                                 memory.floats(num_rows, 1, -2),
                                 memory.floats(num_rows, 0.5f, 1),
                                 memory.floats(num_rows, 0.5f, 1),
                                 memory.floats(num_rows),
                                 memory.floats(num_rows, 1, -2),
                                 memory.floats(num_rows, 1, -2),
                                 memory.floats(num_rows, 1, -2),
                                 nullptr,
                                 num_rows};
  const cuda::PolicyOptions options = {.objective = kernels::Objective::kClipped,
                                       .clip_low = 0.2f,
                                       .clip_high = 0.28f,
                                       .clip_dual = 3,
                                       .correction = kernels::Correction::kNone,
                                       .correction_low = 0,
                                       .correction_high = 0,
                                       .entropy_coef = 0.01f,
                                       .kl = kernels::KlEstimator::kK3,
                                       .kl_coef = 0.001f};
  const cuda::ValueRows values = {values_grad,
                                  value_stats,
                                  memory.floats(num_rows),
                                  memory.floats(num_rows, 0.5f, 1),
                                  memory.floats(num_rows),
                                  memory.floats(num_rows),
                                  num_rows};
  Calls run;
  SEEKRL_ADD(run, policy_rows, rows, options);
  SEEKRL_ADD(run, value_rows, values, 0.2f);
  return {run,
          {{"logprob_grad", logprob_grad, num_rows, Kind::kFloat, 1e-5},
           {"entropy_grad", entropy_grad, num_rows, Kind::kFloat, 1e-5},
           {"values_grad", values_grad, num_rows, Kind::kFloat, 1e-5},
           {"stats", stats, 9, Kind::kDouble, 1e-5},
           {"value_stats", value_stats, 4, Kind::kDouble, 1e-5}}};
}

// Scores of rows whose logits several GPUs have, of what each of them found.
Prepared prepare_parts(Memory& memory, int64_t num_parts, int64_t num_rows) {
  const cuda::RowScores scores = {memory.floats(num_rows), memory.floats(num_rows), memory.floats(num_rows),
                                  memory.floats(num_rows)};
  const float* const parts = memory.floats(num_parts * 4 * num_rows, 0.5f, 3);
  Calls run;
  SEEKRL_ADD(run, combine_scores, scores, parts, num_parts, num_rows);
  return {run,
          {{"logprob", scores.logprob_R, num_rows, Kind::kFloat, 1e-5},
           {"entropy", scores.entropy_R, num_rows, Kind::kFloat, 1e-5},
           {"log_sum", scores.log_sum_R, num_rows, Kind::kFloat, 1e-5}}};
}

// The embedding's gradient; words of a step's inputs that the host changes.
Prepared prepare_tokens(Memory& memory, int64_t num_tokens, int64_t vocab_size, int64_t width) {
  std::vector<int32_t> ids(num_tokens);
  std::vector<cuda::WordEdit> edits;
  for (int32_t t = 0; t < num_tokens; ++t) {
    ids[t] = static_cast<int32_t>(int64_t{t} * t % vocab_size);
    if (t % 7 == 0) edits.push_back({t, -t});
  }
  float* const weight_grad = memory.floats(vocab_size * width);
  auto* const words = memory.empty<int32_t>(num_tokens);
  const cuda::EmbedGradient call = {
      weight_grad, memory.copy_of(ids), memory.floats(num_tokens * width), num_tokens, width, 1};
  const cuda::WordEdit* const all_edits = memory.copy_of(edits);
  const int64_t num_edits = std::ssize(edits);
  Calls run;
  SEEKRL_ADD(run, embed_gradient, call);
  SEEKRL_ADD(run, edit_words, words, all_edits, num_edits);
  return {run,
          {{"weight_grad", weight_grad, vocab_size * width, Kind::kFloat, 1e-5},
           {"words", words, num_tokens, Kind::kInt, 0}}};
}

enum class Moments { kFloat, kCodes };

// bf16 weights with their lower halves and f32 moments, or bf16 weights rounded at random and moments of 8 bits.
AdamWSlice slice_of(Memory& memory, int64_t count, Moments moments) {
  const int64_t num_blocks = (count + kMomentBlock - 1) / kMomentBlock;
  AdamWSlice slice;
  slice.n = count;
  slice.halves = static_cast<uint16_t*>(memory.halves(count));
  slice.gradients = memory.floats(count, 0.01f);
  slice.seed = slice.stream = 7;
  if (moments == Moments::kFloat) {
    slice.low = memory.empty<int16_t>(count);
    slice.first.values = memory.floats(count, 1e-4f);
    slice.second.values = memory.floats(count, 1e-7f, 2e-7f);
  } else {
    slice.first.codes = memory.empty<uint8_t>(count);
    slice.second.codes = memory.empty<uint8_t>(count);
    slice.first.scales = memory.empty<float>(num_blocks);
    slice.second.scales = memory.empty<float>(num_blocks);
  }
  return slice;
}

// The first step of betas 0.9 and 0.999 at a rate of 1e-3.
kernels::AdamWStep first_step() {
  kernels::AdamWStep step;
  step.kept = 1 - 1e-4f;
  step.first_weight = 0.1f;
  step.beta2 = 0.999f;
  step.second_weight = 1 - 0.999f;
  step.root_divisor = std::sqrt(1 - 0.999f);
  step.epsilon = 1e-8f;
  step.minus_rate = -1e-3f / 0.1f;
  return step;
}

Prepared prepare_adamw(Memory& memory, int64_t count, Moments moments) {
  const int64_t num_blocks = (count + kMomentBlock - 1) / kMomentBlock;
  const AdamWSlice slice = slice_of(memory, count, moments);
  auto* const sum = memory.empty<double>(1);
  const AdamWSlice* const slices = memory.copy_of(std::vector<AdamWSlice>{slice});
  const int64_t* const first_block = memory.copy_of(std::vector<int64_t>{0, num_blocks});
  const cuda::AdamWCall call = {slices,
                                first_block,
                                1,
                                num_blocks,
                                memory.copy_of(std::vector<kernels::DynamicMap>{kernels::signed_map()}),
                                memory.copy_of(std::vector<kernels::DynamicMap>{kernels::unsigned_map()}),
                                first_step(),
                                sum,
                                1};
  auto* const scratch = memory.empty<double>(cuda::kSquareGroups);
  Calls run;
  SEEKRL_ADD(run, squared_norm, sum, scratch, slices, first_block, 1, num_blocks);
  SEEKRL_ADD(run, adamw, call);
  std::vector<Output> outputs = {{"norm", sum, 1, Kind::kDouble, 1e-12},
                                 {"weights", slice.halves, count, Kind::kBf16, 0}};
  if (moments == Moments::kFloat) {
    outputs.push_back({"first", slice.first.values, count, Kind::kFloat, 0});
    outputs.push_back({"second", slice.second.values, count, Kind::kFloat, 0});
  } else {
    outputs.push_back({"codes", slice.first.codes, count, Kind::kByte, 0});
  }
  return {run, outputs};
}

}  // namespace

void add_row_cases(Cases& cases, bool is_tiny) {
  const int64_t rows = is_tiny ? 8 : 256, vocab_size = is_tiny ? 2003 : 151936, policy = is_tiny ? 300 : 16384;
  cases.push_back({"draw from " + std::to_string(rows) + " rows of " + std::to_string(vocab_size),
                   static_cast<double>(rows), "tok", 4.0 * static_cast<double>(rows * vocab_size), 0,
                   4.0 * static_cast<double>(rows * vocab_size) + 1e9,
                   [=](Memory& memory) { return prepare_draw(memory, rows, vocab_size); }});
  cases.push_back({"losses of policy and critic, " + std::to_string(policy) + " rows", static_cast<double>(policy),
                   "row", 60.0 * static_cast<double>(policy), 0, 1e9,
                   [=](Memory& memory) { return prepare_policy(memory, policy); }});
  cases.push_back({"scores of " + std::to_string(policy) + " rows, of 8 parts", static_cast<double>(policy), "row",
                   4.0 * 4 * 9 * static_cast<double>(policy), 0, 1e9,
                   [=](Memory& memory) { return prepare_parts(memory, 8, policy); }});
  const int64_t tokens = is_tiny ? 90 : 8192, width = is_tiny ? 64 : 896;
  cases.push_back({"gradient of " + std::to_string(tokens) + " embedded tokens", static_cast<double>(tokens), "tok",
                   12.0 * static_cast<double>(tokens * width), 0, 4.0 * static_cast<double>(vocab_size * width) + 1e9,
                   [=](Memory& memory) { return prepare_tokens(memory, tokens, vocab_size, width); }});
}

void add_optimiser_cases(Cases& cases, bool is_tiny) {
  const int64_t count = is_tiny ? 1000 : 500'000'000;
  const auto n = static_cast<double>(count);
  const std::string of = is_tiny ? "1,000" : "500M";
  // The gradient is read twice and set to 0 once; moments and weights are read and written.
  cases.push_back({"AdamW of " + of + ", bf16 and lower halves, f32 moments", n, "parameter", 36 * n, 0, 17 * n + 1e9,
                   [=](Memory& memory) { return prepare_adamw(memory, count, Moments::kFloat); }});
  cases.push_back({"AdamW of " + of + ", bf16 rounded at random, 8-bit moments", n, "parameter", 20 * n, 0, 9 * n + 1e9,
                   [=](Memory& memory) { return prepare_adamw(memory, count, Moments::kCodes); }});
}

}  // namespace seekrl::bench
