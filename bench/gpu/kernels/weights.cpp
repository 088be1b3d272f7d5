// Products with quantised weights, what adapters add to a batch, experts.
#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;
using cuda::QuantKind;

namespace {

struct QuantShape {
  QuantKind kind;
  int64_t rows, n, k;
  Dtype dtype;
};

cuda::QuantMatrix quantised(Memory& memory, const QuantShape& shape) {
  const auto& [kind, rows, n, k, dtype] = shape;
  const int64_t panels = (n + 15) / 16, blocks = (k + 31) / 32, row_blocks = (k + 63) / 64;
  cuda::QuantMatrix weight = {};
  weight.kind = kind;
  weight.n = n;
  weight.k = k;
  if (kind == QuantKind::kNf4) {
    weight.codes = memory.codes(n * row_blocks * 32);
    weight.absmax = memory.codes(n * row_blocks);
    weight.absmax_scales = memory.floats((n * row_blocks + 255) / 256, 0.1f, 0.5f);
    weight.absmax_mean = memory.floats(1, 0.1f, 0.5f);
    weight.absmax_levels = memory.floats(256);
    weight.levels = memory.floats(16);
  } else {
    weight.codes = memory.codes(panels * blocks * 16 * (kind == QuantKind::kInt8 ? 32 : 16));
    weight.channel_scales_N = memory.floats(panels * 16, 1e-3f, 2e-3f);
    weight.block_scales = static_cast<const uint16_t*>(memory.numbers(Dtype::kF16, panels * blocks * 16, 1e-2f, 2e-2f));
  }
  return weight;
}

Prepared prepare_quantised(Memory& memory, const QuantShape& shape) {
  const cuda::QuantMatrix weight = quantised(memory, shape);
  float* const out = memory.floats(shape.rows * shape.n);
  const void* const x = memory.numbers(shape.dtype, shape.rows * shape.k);
  const cuda::QuantProduct call = {out, x, weight, nullptr, shape.n, shape.k, shape.rows, shape.dtype, Dtype::kFloat};
  Calls run;
  SEEKRL_ADD(run, quant_product, call);
  return {run, {{"out", out, shape.rows * shape.n, Kind::kFloat, 1e-3}}};
}

Prepared prepare_dequantised(Memory& memory, const QuantShape& shape) {
  const cuda::QuantMatrix weight = quantised(memory, shape);
  void* const to = memory.poisoned(shape.dtype, shape.n * shape.k);
  Calls run;
  SEEKRL_ADD(run, dequantise, to, weight, shape.dtype);
  return {run, {{"weights", to, shape.n * shape.k, kind_of(shape.dtype), 0}}};
}

Prepared prepare_adapters(Memory& memory, int64_t rows, int64_t n, int64_t k, int64_t rank, int64_t num_adapters,
                          Dtype dtype) {
  std::vector<cuda::LowRankPair> pairs;
  std::vector<int32_t> start, each;
  for (int64_t a = 0; a < num_adapters; ++a) {
    pairs.push_back({weight_of(memory, dtype, rank, k), weight_of(memory, dtype, n, rank), rank, 2});
    start.push_back(static_cast<int32_t>(rows * a / num_adapters));
    each.push_back(static_cast<int32_t>(a));
  }
  start.push_back(static_cast<int32_t>(rows));
  void* const out = memory.numbers(dtype, rows * n);
  cuda::LowRank call = {};
  call.out_MN = out;
  call.inner_MR = memory.poisoned(dtype, rows * rank);
  call.x_MK = memory.numbers(dtype, rows * k);
  call.pairs_A = memory.copy_of(pairs);
  call.start_G = memory.copy_of(start);
  call.adapter_G = memory.copy_of(each);
  call.out_stride = n;
  call.x_stride = k;
  call.m = rows;
  call.n = n;
  call.k = k;
  call.num_runs = num_adapters;
  call.max_rank = rank;
  call.dtype = call.out_dtype = dtype;
  Calls run;
  SEEKRL_ADD(run, add_low_rank, call);
  return {run, {{"out", out, rows * n, kind_of(dtype), 1e-2}}};
}

// Of the experts' networks without their gates: two products.
Prepared prepare_experts(Memory& memory, int64_t tokens, int64_t experts, int64_t chosen, int64_t width, int64_t inner,
                         Dtype dtype) {
  const int64_t calls = tokens * chosen;
  std::vector<const void*> up, down;
  for (int64_t e = 0; e < experts; ++e) {
    up.push_back(weight_of(memory, dtype, inner, width));
    down.push_back(weight_of(memory, dtype, width, inner));
  }
  const void *const *const ups = memory.copy_of(up), *const *const downs = memory.copy_of(down);
  const void *const logits = memory.numbers(dtype, tokens * experts), *const x = memory.numbers(dtype, tokens * width);
  auto* const weights = static_cast<float*>(memory.poisoned(Dtype::kFloat, calls));
  auto *const which = memory.empty<int32_t>(calls), *const start = memory.empty<int32_t>(experts + 1);
  auto *const order = memory.empty<int32_t>(calls), *const places = memory.empty<int32_t>(calls);
  void *const rows = memory.poisoned(dtype, calls * width), *const out = memory.poisoned(dtype, tokens * width);
  void* const between = memory.poisoned(dtype, calls * inner);
  const cuda::ExpertChoice choice = {weights, which, logits, tokens, experts, chosen, true, dtype};
  const cuda::ExpertCalls sorted = {start, order, places, which, calls, experts};
  const cuda::ExpertRows gathered = {rows, x, order, calls, chosen, width};
  const cuda::ExpertProduct first = {between, rows, ups, start, calls, inner, width, experts, dtype};
  const cuda::ExpertProduct second = {rows, between, downs, start, calls, width, inner, experts, dtype};
  const cuda::ExpertSum sum = {out, rows, weights, places, tokens, chosen, width, dtype};
  Calls run;
  SEEKRL_ADD(run, choose_experts, choice);
  SEEKRL_ADD(run, sort_calls, sorted);
  SEEKRL_ADD(run, gather_calls, gathered);
  SEEKRL_ADD(run, expert_product, first);
  SEEKRL_ADD(run, expert_product, second);
  SEEKRL_ADD(run, add_experts, sum);
  return {run, {{"out", out, tokens * width, kind_of(dtype), 2e-2}, {"chosen", which, calls, Kind::kInt, 0}}};
}

std::string words_of(QuantKind kind) {
  const char* const names[] = {"int8", "int4", "NF4"};
  return names[static_cast<int>(kind)];
}

void add_quantised(Cases& cases, QuantKind kind, int64_t n, int64_t k) {
  const double bytes_of[] = {1, 0.5 + 2.0 / 32, 0.5 + 1.0 / 64};
  const double values = static_cast<double>(n * k), bytes = bytes_of[static_cast<int>(kind)] * values;
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    const Use use = dtype == Dtype::kBf16 ? Use::kBoth : Use::kCheck;
    const std::string of = std::string(" of ") + name_of(dtype);
    for (const int64_t rows : {1, 16, 64}) {
      const QuantShape shape{kind, rows, n, k, dtype};
      cases.push_back({.name = "product with " + words_of(kind) + ", " + std::to_string(rows) + " rows" + of,
                       .items = static_cast<double>(rows),
                       .item = "row",
                       .bytes = bytes,
                       .flop = 2 * values * static_cast<double>(rows),
                       .memory = bytes + 1e9,
                       .prepare = [shape](Memory& memory) { return prepare_quantised(memory, shape); },
                       .use = use});
    }
    const QuantShape shape{kind, 1, n, k, dtype};
    cases.push_back({.name = "16 bits of " + words_of(kind) + "," + of,
                     .items = values,
                     .item = "weight",
                     .bytes = bytes + 2 * values,
                     .memory = 3 * values + 1e9,
                     .prepare = [shape](Memory& memory) { return prepare_dequantised(memory, shape); },
                     .use = use});
  }
}

void add_adapters(Cases& cases, bool is_tiny, int64_t n, int64_t k) {
  const int64_t rows = is_tiny ? 20 : 64, rank = is_tiny ? 8 : 16, adapters = is_tiny ? 3 : 8;
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    cases.push_back(
        {.name = std::to_string(adapters) + " adapters of rank " + std::to_string(rank) + ", " + std::to_string(rows) +
                 " rows of " + name_of(dtype),
         .items = static_cast<double>(rows),
         .item = "row",
         .bytes = 2.0 * static_cast<double>(adapters * rank * (n + k) + 2 * rows * n),
         .flop = 2.0 * static_cast<double>(rows * rank * (n + k)),
         .memory = 1e9,
         .prepare = [=](Memory& memory) { return prepare_adapters(memory, rows, n, k, rank, adapters, dtype); },
         .use = dtype == Dtype::kBf16 ? Use::kBoth : Use::kCheck});
  }
}

void add_experts(Cases& cases, bool is_tiny) {
  const int64_t tokens = is_tiny ? 5 : 64, experts = is_tiny ? 6 : 60, chosen = is_tiny ? 2 : 4;
  const int64_t width = is_tiny ? 64 : 2048, inner = is_tiny ? 96 : 1408;
  const double network = 2.0 * static_cast<double>(width * inner), calls = static_cast<double>(tokens * chosen);
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF16}) {
    cases.push_back(
        {.name = std::to_string(chosen) + " of " + std::to_string(experts) + " experts, " + std::to_string(tokens) +
                 " tokens of " + name_of(dtype),
         .items = static_cast<double>(tokens),
         .item = "token",
         .bytes = 2 * network * static_cast<double>(experts),
         .flop = 2 * network * calls,
         .memory = 2 * network * static_cast<double>(experts) + 1e9,
         .prepare =
             [=](Memory& memory) { return prepare_experts(memory, tokens, experts, chosen, width, inner, dtype); },
         .use = dtype == Dtype::kBf16 ? Use::kBoth : Use::kCheck});
  }
}

}  // namespace

void add_weight_cases(Cases& cases, bool is_tiny) {
  const int64_t n = is_tiny ? 70 : 18944, k = is_tiny ? 136 : 3584;
  for (const QuantKind kind : {QuantKind::kInt8, QuantKind::kInt4, QuantKind::kNf4}) add_quantised(cases, kind, n, k);
  add_adapters(cases, is_tiny, n, k);
  add_experts(cases, is_tiny);
}

}  // namespace seekrl::bench
