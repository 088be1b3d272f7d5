#include "model.h"

namespace seekrl::bench {

using cuda::Dtype;

std::vector<Model> models(bool is_tiny) {
  if (is_tiny) return {{"tiny", 2, 64, 4, 2, 32, 96, 200}};
  return {{"0.5B", 24, 896, 14, 2, 64, 4864, 151936},
          {"1.5B", 28, 1536, 12, 2, 128, 8960, 151936},
          {"3B", 36, 2048, 16, 2, 128, 11008, 151936},
          {"7B", 28, 3584, 28, 4, 128, 18944, 152064}};
}

void add_forward(Calls& calls, void* out, const void* x, const void* w, const void* bias, int64_t m, int64_t n,
                 int64_t k, Dtype out_dtype) {
  const cuda::Product call = {out,          x,         w,    bias, n, k, k, m, n, k, cuda::ProductForm::kForward,
                              Dtype::kBf16, out_dtype, false};
  SEEKRL_ADD(calls, product, call);
}

LayerWeights::LayerWeights(Memory& memory, const Model& model)
    : first_norm(memory.numbers(Dtype::kBf16, model.hidden, 0.1f, 1)),
      qkv(weight_of(memory, model.qkv_width(), model.hidden)),
      qkv_bias(memory.halves(model.qkv_width(), 0.1f)),
      out(weight_of(memory, model.hidden, model.query_width())),
      second_norm(memory.numbers(Dtype::kBf16, model.hidden, 0.1f, 1)),
      gate_up(weight_of(memory, 2 * model.inner, model.hidden)),
      down(weight_of(memory, model.hidden, model.inner)) {}

LayerRows::LayerRows(Memory& memory, const Model& model, int64_t num_rows_)
    : num_rows(num_rows_),
      normed(memory.poisoned(Dtype::kBf16, num_rows * model.hidden)),
      qkv(memory.poisoned(Dtype::kBf16, num_rows * model.qkv_width())),
      attended(memory.poisoned(Dtype::kBf16, num_rows * model.query_width())),
      added(memory.poisoned(Dtype::kBf16, num_rows * model.hidden)),
      second_normed(memory.poisoned(Dtype::kBf16, num_rows * model.hidden)),
      gate_up(memory.poisoned(Dtype::kBf16, num_rows * 2 * model.inner)),
      gated(memory.poisoned(Dtype::kBf16, num_rows * model.inner)),
      last(memory.poisoned(Dtype::kBf16, num_rows * model.hidden)),
      middle(static_cast<float*>(memory.poisoned(Dtype::kFloat, num_rows * model.hidden))),
      first_scale(memory.empty<float>(num_rows)),
      second_scale(memory.empty<float>(num_rows)) {}

void add_layer(Calls& calls, const Model& model, const LayerWeights& weights, const LayerRows& rows, float* residual,
               const void* added, const std::function<void(Calls&)>& attend) {
  const int64_t t = rows.num_rows, d = model.hidden, inner = model.inner;
  const cuda::AddNorm first = {rows.normed,
                               added == nullptr ? nullptr : residual,
                               residual,
                               added,
                               weights.first_norm,
                               rows.first_scale,
                               t,
                               d,
                               1e-6f,
                               0,
                               Dtype::kBf16};
  SEEKRL_ADD(calls, add_norm, first);
  attend(calls);
  add_forward(calls, rows.added, rows.attended, weights.out, nullptr, t, d, model.query_width());
  const cuda::AddNorm second = {rows.second_normed, rows.middle, residual, rows.added, weights.second_norm,
                                rows.second_scale,  t,           d,        1e-6f,      0,
                                Dtype::kBf16};
  SEEKRL_ADD(calls, add_norm, second);
  add_forward(calls, rows.gate_up, rows.second_normed, weights.gate_up, nullptr, t, 2 * inner, d);
  const auto* const up = static_cast<const uint16_t*>(rows.gate_up) + inner;
  const cuda::GateMul gate = {rows.gated, rows.gate_up, up, t, inner, 2 * inner, cuda::Gate::kSilu, Dtype::kBf16};
  SEEKRL_ADD(calls, gate_mul, gate);
  add_forward(calls, rows.last, rows.gated, weights.down, nullptr, t, d, inner);
}

Prompts::Prompts(Memory& memory, const Model& model, int64_t num_texts, int64_t length, bool is_causal_)
    : num_tokens(num_texts * length), is_causal(is_causal_) {
  std::vector<cuda::SpanTile> all_tiles;
  std::vector<int32_t> tokens, start, positions;
  for (int64_t text = 0; text <= num_texts; ++text) start.push_back(static_cast<int32_t>(text * length));
  for (int64_t text = 0; text < num_texts; ++text) {
    for (int64_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<int32_t>(text * length + i));
      positions.push_back(static_cast<int32_t>(i));
      if (i % cuda::kSpanTileRows != 0) continue;
      all_tiles.push_back({static_cast<int32_t>(text), static_cast<int32_t>(text * length + i),
                           static_cast<int32_t>(std::min<int64_t>(cuda::kSpanTileRows, length - i))});
    }
  }
  num_tiles = std::ssize(all_tiles);
  tiles = memory.copy_of(all_tiles);
  path = viewers = memory.copy_of(tokens);
  path_start = viewers_start = memory.copy_of(start);
  position = memory.copy_of(positions);
  cos = memory.floats(num_tokens * model.head_dim / 2);
  sin = memory.floats(num_tokens * model.head_dim / 2);
  log_sum = memory.empty<float>(num_tokens * model.num_heads);
}

cuda::SpanAttention Prompts::attention(const Model& model, const LayerRows& rows) const {
  const auto* const qkv = static_cast<const uint16_t*>(rows.qkv);
  const int64_t width = model.qkv_width(), keys = model.query_width(),
                values = keys + model.num_kv_heads * model.head_dim;
  return {.query_THC = {qkv, width},
          .key_TKC = {qkv + keys, width},
          .value_TKC = {qkv + values, width},
          .out_THC = rows.attended,
          .log_sum_HT = is_causal ? log_sum : nullptr,
          .tiles = tiles,
          .num_tiles = num_tiles,
          .path = path,
          .path_start_S = path_start,
          .position_T = position,
          .num_tokens = num_tokens,
          .num_heads = model.num_heads,
          .num_kv_heads = model.num_kv_heads,
          .head_dim = model.head_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(model.head_dim)),
          .softcap = 0,
          .window = 0,
          .dtype = Dtype::kBf16,
          .is_causal = is_causal};
}

cuda::Rotate Prompts::rotation(const Model& model, const LayerRows& rows, const void* bias) const {
  auto* const qkv = static_cast<uint16_t*>(rows.qkv);
  const auto* const biases = static_cast<const uint16_t*>(bias);
  const int64_t width = model.qkv_width(), keys = model.query_width(),
                values = keys + model.num_kv_heads * model.head_dim;
  cuda::Rotate call = {};
  call.query = {qkv, width, biases, nullptr};
  call.key = {qkv + keys, width, biases + keys, nullptr};
  call.value = {qkv + values, width, biases + values, nullptr};
  call.rotary = {cos, sin, model.head_dim / 2};
  call.num_tokens = num_tokens;
  call.num_heads = model.num_heads;
  call.num_kv_heads = model.num_kv_heads;
  call.head_dim = model.head_dim;
  call.norm_epsilon = 1e-6f;
  call.dtype = Dtype::kBf16;
  return call;
}

}  // namespace seekrl::bench
