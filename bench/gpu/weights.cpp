// Products with quantised weights, what adapters add to a batch, and our products of 16 bits against cuBLASLt's.
#include "cublaslt.h"
#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;
using cuda::QuantKind;

namespace {

struct QuantShape {
  QuantKind kind;
  int64_t rows, n, k;
};

cuda::QuantMatrix quantised(Memory& memory, const QuantShape& shape) {
  const auto& [kind, rows, n, k] = shape;
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
  const void* const x = memory.halves(shape.rows * shape.k);
  const cuda::QuantProduct call = {out, x, weight, nullptr, shape.n, shape.k, shape.rows, Dtype::kBf16, Dtype::kFloat};
  Calls run;
  SEEKRL_ADD(run, quant_product, call);
  return {run, {{"out", out, shape.rows * shape.n, Kind::kFloat, 1e-3}}};
}

Prepared prepare_dequantised(Memory& memory, const QuantShape& shape) {
  const cuda::QuantMatrix weight = quantised(memory, shape);
  void* const to = memory.poisoned(Dtype::kBf16, shape.n * shape.k);
  Calls run;
  SEEKRL_ADD(run, dequantise, to, weight, Dtype::kBf16);
  return {run, {{"weights", to, shape.n * shape.k, Kind::kBf16, 0}}};
}

Prepared prepare_adapters(Memory& memory, int64_t rows, int64_t n, int64_t k, int64_t rank, int64_t num_adapters) {
  std::vector<cuda::LowRankPair> pairs;
  std::vector<int32_t> start, each;
  for (int64_t a = 0; a < num_adapters; ++a) {
    pairs.push_back({weight_of(memory, rank, k), weight_of(memory, n, rank), rank, 2});
    start.push_back(static_cast<int32_t>(rows * a / num_adapters));
    each.push_back(static_cast<int32_t>(a));
  }
  start.push_back(static_cast<int32_t>(rows));
  void* const out = memory.halves(rows * n);
  cuda::LowRank call = {};
  call.out_MN = out;
  call.inner_MR = memory.poisoned(Dtype::kBf16, rows * rank);
  call.x_MK = memory.halves(rows * k);
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
  call.dtype = call.out_dtype = Dtype::kBf16;
  Calls run;
  SEEKRL_ADD(run, add_low_rank, call);
  return {run, {{"out", out, rows * n, Kind::kBf16, 1e-2}}};
}

// Of the experts' networks without their gates: two products.
Prepared prepare_experts(Memory& memory, int64_t tokens, int64_t experts, int64_t chosen, int64_t width,
                         int64_t inner) {
  const int64_t calls = tokens * chosen;
  std::vector<const void*> up, down;
  for (int64_t e = 0; e < experts; ++e) {
    up.push_back(weight_of(memory, inner, width));
    down.push_back(weight_of(memory, width, inner));
  }
  const void *const *const ups = memory.copy_of(up), *const *const downs = memory.copy_of(down);
  const void *const logits = memory.halves(tokens * experts), *const x = memory.halves(tokens * width);
  auto* const weights = static_cast<float*>(memory.poisoned(Dtype::kFloat, calls));
  auto *const which = memory.empty<int32_t>(calls), *const start = memory.empty<int32_t>(experts + 1);
  auto *const order = memory.empty<int32_t>(calls), *const places = memory.empty<int32_t>(calls);
  void *const rows = memory.poisoned(Dtype::kBf16, calls * width), *const out =
                                                                       memory.poisoned(Dtype::kBf16, tokens * width);
  void* const between = memory.poisoned(Dtype::kBf16, calls * inner);
  const cuda::ExpertChoice choice = {weights, which, logits, tokens, experts, chosen, true, Dtype::kBf16};
  const cuda::ExpertCalls sorted = {start, order, places, which, calls, experts};
  const cuda::ExpertRows gathered = {rows, x, order, calls, chosen, width};
  const cuda::ExpertProduct first = {between, rows, ups, start, calls, inner, width, experts, Dtype::kBf16};
  const cuda::ExpertProduct second = {rows, between, downs, start, calls, width, inner, experts, Dtype::kBf16};
  const cuda::ExpertSum sum = {out, rows, weights, places, tokens, chosen, width, Dtype::kBf16};
  Calls run;
  SEEKRL_ADD(run, choose_experts, choice);
  SEEKRL_ADD(run, sort_calls, sorted);
  SEEKRL_ADD(run, gather_calls, gathered);
  SEEKRL_ADD(run, expert_product, first);
  SEEKRL_ADD(run, expert_product, second);
  SEEKRL_ADD(run, add_experts, sum);
  return {run, {{"out", out, tokens * width, Kind::kBf16, 2e-2}, {"chosen", which, calls, Kind::kInt, 0}}};
}

// Ours, or cuBLASLt's of the same factors.
Prepared prepare_product(Memory& memory, int64_t m, int64_t n, int64_t k, bool is_ours) {
  void* const out = memory.poisoned(Dtype::kBf16, m * n);
  const void *const x = memory.halves(m * k), *const w = weight_of(memory, n, k);
  Calls run;
  if (is_ours) {
    add_forward(run, out, x, w, nullptr, m, n, k);
  } else {
    const Launch other = cublaslt_product(memory, out, x, w, m, n, k);
    run.add("cuBLASLt", other);
  }
  return {run, {{"out", out, m * n, Kind::kBf16, 1e-2}}};
}

void add_products(Cases& cases, bool is_tiny) {
  for (const Model& model : models(is_tiny)) {
    if (!is_tiny && model.name != "0.5B" && model.name != "7B") continue;
    struct Weight {
      std::string name;
      int64_t n, k;
    };
    const Weight weights[] = {{"qkv", model.qkv_width(), model.hidden},
                              {"gate, up", 2 * model.inner, model.hidden},
                              {"down", model.hidden, model.inner}};
    for (const auto& [name, n, k] : weights) {
      for (const int64_t m : is_tiny ? std::vector<int64_t>{5} : std::vector<int64_t>{1, 16, 64, 256, 8192}) {
        for (const bool is_ours : {true, false}) {
          if (!is_ours && is_tiny) continue;  // no fixture of another's kernel
          const double size = static_cast<double>(n) * static_cast<double>(k), rows = static_cast<double>(m);
          const double bytes = 2 * (size + rows * static_cast<double>(n + k));
          cases.push_back({"product " + model.name + " " + name + ", " + std::to_string(m) + " rows, " +
                               (is_ours ? "ours" : "cuBLASLt"),
                           "", rows, "row", bytes, 2 * rows * size, bytes + 1e9, false,
                           [=, n = n, k = k](Memory& memory) { return prepare_product(memory, m, n, k, is_ours); }});
        }
      }
    }
  }
}

}  // namespace

void add_weight_cases(Cases& cases, bool is_tiny) {
  const int64_t n = is_tiny ? 70 : 18944, k = is_tiny ? 136 : 3584;
  const char* const names[] = {"int8", "int4", "NF4"};
  const double bytes_of[] = {1, 0.5 + 2.0 / 32, 0.5 + 1.0 / 64};
  for (int i = 0; i < 3; ++i) {
    const double bytes = bytes_of[i] * static_cast<double>(n * k), values = static_cast<double>(n * k);
    for (const int64_t rows : {1, 16, 64}) {
      const QuantShape shape{static_cast<QuantKind>(i), rows, n, k};
      cases.push_back({std::string("product with ") + names[i] + ", " + std::to_string(rows) + " rows", "",
                       static_cast<double>(rows), "row", bytes, 2 * values * static_cast<double>(rows), bytes + 1e9,
                       false, [shape](Memory& memory) { return prepare_quantised(memory, shape); }});
    }
    const QuantShape shape{static_cast<QuantKind>(i), 1, n, k};
    cases.push_back({std::string("16 bits of ") + names[i], "", values, "weight", bytes + 2 * values, 0,
                     3 * values + 1e9, false, [shape](Memory& memory) { return prepare_dequantised(memory, shape); }});
  }
  const int64_t rows = is_tiny ? 20 : 64, rank = is_tiny ? 8 : 16, adapters = is_tiny ? 3 : 8;
  cases.push_back(
      {std::to_string(adapters) + " adapters of rank " + std::to_string(rank) + ", " + std::to_string(rows) + " rows",
       "", static_cast<double>(rows), "row", 2.0 * static_cast<double>(adapters * rank * (n + k) + 2 * rows * n),
       2.0 * static_cast<double>(rows * rank * (n + k)), 1e9, false,
       [=](Memory& memory) { return prepare_adapters(memory, rows, n, k, rank, adapters); }});
  const int64_t tokens = is_tiny ? 5 : 64, experts = is_tiny ? 6 : 60, chosen = is_tiny ? 2 : 4;
  const int64_t width = is_tiny ? 64 : 2048, inner = is_tiny ? 96 : 1408;
  const double network = 2.0 * static_cast<double>(width * inner), calls = static_cast<double>(tokens * chosen);
  cases.push_back(
      {std::to_string(chosen) + " of " + std::to_string(experts) + " experts, " + std::to_string(tokens) + " tokens",
       "", static_cast<double>(tokens), "token", 2 * network * static_cast<double>(experts), 2 * network * calls,
       2 * network * static_cast<double>(experts) + 1e9, false,
       [=](Memory& memory) { return prepare_experts(memory, tokens, experts, chosen, width, inner); }});
  add_products(cases, is_tiny);
}

}  // namespace seekrl::bench
