// One launch each.
#include "ops/gpu/encoder_rows.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "ops/gpu/gpu.h"

namespace seekrl::ops {

TextTables text_tables(const std::vector<int64_t>& starts, at::Device device) {
  std::vector<int64_t> tiles, positions;
  for (size_t text = 0; text + 1 < starts.size(); ++text) {
    for (int64_t first = starts[text]; first < starts[text + 1]; first += cuda::kSpanTileRows) {
      const int64_t count = std::min<int64_t>(cuda::kSpanTileRows, starts[text + 1] - first);
      tiles.insert(tiles.end(), {static_cast<int64_t>(text), first, count});
    }
    for (int64_t i = 0; i < starts[text + 1] - starts[text]; ++i) positions.push_back(i);
  }
  const auto on_device = [&](const std::vector<int64_t>& values) { return at::tensor(values, at::kInt).to(device); };
  return {.tiles = on_device(tiles).view({-1, 3}),
          .token_T = at::arange(starts.back(), at::kInt).to(device),
          .start_S = on_device(starts),
          .position_T = on_device(positions)};
}

at::Tensor gpu_text_attention(const at::Tensor& query_key_value, const TextTables& texts, int64_t num_heads) {
  const int64_t num_tokens = query_key_value.size(0), width = query_key_value.size(1) / 3;
  at::Tensor out_TD = at::empty({num_tokens, width}, query_key_value.options());
  const auto part = [&](int64_t i) -> cuda::SpanHeads {
    return {query_key_value.narrow(1, i * width, width).const_data_ptr(), query_key_value.stride(0)};
  };
  const cuda::SpanAttention call = {.query_THC = part(0),
                                    .key_TKC = part(1),
                                    .value_TKC = part(2),
                                    .out_THC = out_TD.mutable_data_ptr(),
                                    .log_sum_HT = nullptr,
                                    .tiles = static_cast<const cuda::SpanTile*>(texts.tiles.const_data_ptr()),
                                    .num_tiles = texts.tiles.size(0),
                                    .path = texts.token_T.const_data_ptr<int32_t>(),
                                    .path_start_S = texts.start_S.const_data_ptr<int32_t>(),
                                    .position_T = texts.position_T.const_data_ptr<int32_t>(),
                                    .num_tokens = num_tokens,
                                    .num_heads = num_heads,
                                    .num_kv_heads = num_heads,
                                    .head_dim = width / num_heads,
                                    .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(width / num_heads))),
                                    .softcap = 0,
                                    .window = 0,
                                    .dtype = gpu_dtype(query_key_value),
                                    .is_causal = false};
  require_launched(gpu().span_attention(call, stream_of(query_key_value)));
  return out_TD;
}

at::Tensor gpu_add_layer_norm(const at::Tensor& rows_TD, const at::Tensor& added_TD, const at::Tensor& weight_D,
                              const at::Tensor& bias_D, double eps) {
  at::Tensor rounded_TD = at::empty(rows_TD.sizes(), rows_TD.options().dtype(at::kBFloat16));
  const cuda::AddLayerNorm call = {.out_TD = rounded_TD.mutable_data_ptr(),
                                   .rows_TD = rows_TD.mutable_data_ptr<float>(),
                                   .added_TD = data_or_null(added_TD),
                                   .weight_D = weight_D.const_data_ptr<float>(),
                                   .bias_D = bias_D.const_data_ptr<float>(),
                                   .num_rows = rows_TD.size(0),
                                   .width = rows_TD.size(1),
                                   .epsilon = static_cast<float>(eps),
                                   .dtype = cuda::Dtype::kBf16};
  require_launched(gpu().add_layer_norm(call, stream_of(rows_TD)));
  return rounded_TD;
}

void gpu_gelu(const at::Tensor& rows_TI) {
  const cuda::BiasGelu call = {.rows_TI = rows_TI.mutable_data_ptr(),
                               .bias_I = nullptr,
                               .num_rows = rows_TI.size(0),
                               .width = rows_TI.size(1),
                               .dtype = gpu_dtype(rows_TI)};
  require_launched(gpu().bias_gelu(call, stream_of(rows_TI)));
}

at::Tensor gpu_pool(const at::Tensor& rows_TD, const TextTables& texts, cuda::PoolKind kind, bool is_normalised) {
  at::Tensor out_SD = at::empty({texts.start_S.size(0) - 1, rows_TD.size(1)}, rows_TD.options());
  const cuda::PoolTexts call = {.out_SD = out_SD.mutable_data_ptr<float>(),
                                .rows_TD = rows_TD.const_data_ptr<float>(),
                                .start_S = texts.start_S.const_data_ptr<int32_t>(),
                                .num_texts = out_SD.size(0),
                                .width = out_SD.size(1),
                                .kind = kind,
                                .is_normalised = is_normalised};
  require_launched(gpu().pool_texts(call, stream_of(rows_TD)));
  return out_SD;
}

}  // namespace seekrl::ops
