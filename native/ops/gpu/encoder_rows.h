// What an encoder of texts does on a GPU between its products; rows are f32 between layers. Without gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/encoder/rows.h"

namespace seekrl::ops {

// Packed texts as the kernels are told of them, i32 on the device.
struct TextTables {
  at::Tensor tiles;       // [tiles, 3], as cuda::SpanTile
  at::Tensor token_T;     // 0 to T - 1
  at::Tensor start_S;     // [S + 1]
  at::Tensor position_T;  // of each token in its text
};

// starts: S + 1 offsets into the tokens.
TextTables text_tables(const std::vector<int64_t>& starts, at::Device device);

// query_key_value: [T, 3 H C] of 16 bits -> [T, H C]. Every token sees its whole text.
at::Tensor gpu_text_attention(const at::Tensor& query_key_value, const TextTables& texts, int64_t num_heads);

// rows: f32, become the norm of rows + added (16 bits; undefined for none); returns them rounded to bf16.
at::Tensor gpu_add_layer_norm(const at::Tensor& rows_TD, const at::Tensor& added_TD, const at::Tensor& weight_D,
                              const at::Tensor& bias_D, double eps);

// In place, of 16 bits.
void gpu_gelu(const at::Tensor& rows_TI);

// -> f32 [S, D].
at::Tensor gpu_pool(const at::Tensor& rows_TD, const TextTables& texts, cuda::PoolKind kind, bool is_normalised);

}  // namespace seekrl::ops
