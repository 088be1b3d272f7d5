// Sends each kernel to the best instruction set of this processor.
#include <algorithm>
#include <atomic>

#include "kernels/attention_tiles.h"
#include "kernels/isa.h"
#include "kernels/table.h"

namespace seekrl::kernels {

const KernelTable kPlainTable = {
    reference::attend,
    reference::attend_backward,
    reference::matmul,
    reference::row_stats,
    reference::row_backward,
    reference::packed_matmul,
    reference::add_layer_norm,
    reference::gelu,
    reference::rms_norm,
    reference::rms_norm_backward,
    reference::rope,
    reference::silu_mul,
    reference::silu_mul_backward,
};

Isa best_isa() {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (has_avx2) return has_avx512 ? Isa::kAvx512 : Isa::kAvx2;
#endif
  return Isa::kPlain;
}

namespace {

const KernelTable& table_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return kAvx512Table;
  if (isa == Isa::kAvx2) return kAvx2Table;
#endif
  (void)isa;
  return kPlainTable;
}

std::atomic<Isa>& chosen_isa() {
  static std::atomic<Isa> chosen = best_isa();
  return chosen;
}

const KernelTable& table() { return table_of(isa()); }

void round_plainly(uint16_t* y, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = to_bf16(x[i]);
}

constexpr Bf16Table kPlainBf16Table = {reference::packed_matmul_bf16, round_plainly};

const Bf16Table& bf16_table() {
#if defined(__x86_64__)
  static const bool has_products = __builtin_cpu_supports("avx512bf16");
  if (isa() == Isa::kAvx512) return has_products ? kAvx512Bf16Table : kAvx512WidenedTable;
  if (isa() == Isa::kAvx2) return kAvx2Bf16Table;
#endif
  return kPlainBf16Table;
}

}  // namespace

Isa isa() { return chosen_isa().load(std::memory_order_relaxed); }

void set_isa(Isa isa) { chosen_isa().store(isa); }

void attend(const QueryRows& rows, const KeyValues& source, int64_t head_dim, float scale, float* log_sum_exp,
            float* scratch) {
  table().attend(rows, source, head_dim, scale, log_sum_exp, scratch);
}

int64_t attend_scratch_floats(int64_t max_keys, int64_t head_dim) {
  return (64 + 2 * kMostRows) * head_dim + scores_floats(max_keys, 1);
}

void attend_backward(const QueryRows& rows, const KeyValues& source, const AttentionGradients& gradients,
                     int64_t head_dim, float scale, float* scratch) {
  table().attend_backward(rows, source, gradients, head_dim, scale, scratch);
}

int64_t attend_backward_scratch_floats(int64_t max_keys, int64_t head_dim) {
  return (64 + 3 * kMostRows) * head_dim + scores_floats(max_keys, 2);
}

void matmul(float* c_MN, int64_t c_stride, const MatrixView& a_MK, const MatrixView& b_KN, int64_t m, int64_t n,
            int64_t k, Start start, const float* bias_N, float* scratch) {
  table().matmul(c_MN, c_stride, a_MK, b_KN, m, n, k, start, bias_N, scratch);
}

RowStats row_stats(const float* logits, int64_t size, float inverse_temperature) {
  return table().row_stats(logits, size, inverse_temperature);
}

void row_backward(float* logits, int64_t size, float inverse_temperature, const RowStats& stats,
                  const RowGradients& gradients) {
  table().row_backward(logits, size, inverse_temperature, stats, gradients);
}

void packed_matmul(float* c_MN, int64_t c_stride, const float* a_MK, int64_t a_stride, const float* panel, int64_t m,
                   int64_t columns, int64_t k, const float* bias_N) {
  table().packed_matmul(c_MN, c_stride, a_MK, a_stride, panel, m, columns, k, bias_N);
}

void packed_matmul(float* c_MN, int64_t c_stride, const uint16_t* a_MK, int64_t a_stride, const uint16_t* panel,
                   int64_t m, int64_t columns, int64_t k, const float* bias_N) {
  bf16_table().packed_matmul(c_MN, c_stride, a_MK, a_stride, panel, m, columns, k, bias_N);
}

void to_bf16(uint16_t* y, const float* x, int64_t n) { bf16_table().to_bf16(y, x, n); }

void add_layer_norm(float* y_MD, const float* x_MD, const float* residual_MD, const float* weight_D,
                    const float* bias_D, int64_t m, int64_t d, float eps) {
  table().add_layer_norm(y_MD, x_MD, residual_MD, weight_D, bias_D, m, d, eps);
}

void gelu(float* y, const float* x, int64_t n) { table().gelu(y, x, n); }

void rms_norm(float* y_MD, float* scale_M, const float* x_MD, const float* weight_D, int64_t m, int64_t d, float eps) {
  table().rms_norm(y_MD, scale_M, x_MD, weight_D, m, d, eps);
}

void rms_norm_backward(float* x_grad_MD, float* weight_grad_D, const float* y_grad_MD, const float* x_MD,
                       const float* scale_M, const float* weight_D, int64_t m, int64_t d) {
  table().rms_norm_backward(x_grad_MD, weight_grad_D, y_grad_MD, x_MD, scale_M, weight_D, m, d);
}

void rope(float* y_THC, const float* x_THC, const float* cos_TF, const float* sin_TF, int64_t t, int64_t h, int64_t c,
          float sign) {
  table().rope(y_THC, x_THC, cos_TF, sin_TF, t, h, c, sign);
}

void silu_mul(float* y, const float* gate, const float* up, int64_t n) { table().silu_mul(y, gate, up, n); }

void silu_mul_backward(float* gate_grad, float* up_grad, const float* y_grad, const float* gate, const float* up,
                       int64_t n) {
  table().silu_mul_backward(gate_grad, up_grad, y_grad, gate, up, n);
}

}  // namespace seekrl::kernels
