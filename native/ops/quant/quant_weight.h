// A quantised weight, in the form in which the products read it, on the CPU and on a GPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/products/quant.h"

namespace seekrl::ops {

// kInt8: one scale an output. kInt4: one scale for 32 values along k (GGUF's Q4_0). kNf4: QLoRA's levels times an
// absmax for 64 values, itself in 8 bits.
enum class QuantKind { kInt8, kInt4, kNf4 };

// ERR_ARGUMENT unless it is int8, int4 or nf4.
QuantKind to_quant_kind(const std::string& name);

// Its tensors are shared by copies and never change once filled.
class QuantWeight {
 public:
  // One of its arrays: as it lies in memory and in files.
  struct Part {
    std::string name;
    at::Tensor value;
  };

  QuantWeight() = default;
  // Room for N outputs of K values; all codes are zero. ERR_SHAPE on a GPU unless K is a multiple of 8.
  QuantWeight(QuantKind kind, int64_t n, int64_t k, at::Device device = at::kCPU);

  bool defined() const { return !parts_.empty(); }
  QuantKind kind() const { return kind_; }
  int64_t n() const { return n_; }
  int64_t k() const { return k_; }

  // codes, then what scales them.
  const std::vector<Part>& parts() const { return parts_; }
  bool is_on_cpu() const { return parts_.front().value.is_cpu(); }
  // On a GPU, of kNf4: f32 [16 + 256], what codes mean and then what those of absmaxes do.
  const at::Tensor& gpu_levels() const { return gpu_levels_; }
  // Takes the numbers of another one of this kind and shape, on any device.
  void copy_from(const QuantWeight& other);

  // What follows but to_float() is of those on the CPU.
  // Of all kinds but kNf4.
  kernels::CodePanels panels() const;
  // One block of output n, of a kind with blocks: codes[j] of its 32 values, bits of f16.
  void put_block(int64_t n, int64_t block, const uint8_t* codes, uint16_t scale);

  // Rows [first, first + count) as bf16, K values each, one after another. One thread.
  void rows_to_bf16(uint16_t* to, int64_t first, int64_t count) const;
  // The whole weight: f32 [N, K] with every bit that its codes have; NF4's are those of bf16, as it is multiplied.
  at::Tensor to_float() const;

 private:
  template <class Element>
  Element* data(size_t part) const;

  QuantKind kind_ = QuantKind::kInt8;
  int64_t n_ = 0, k_ = 0;
  std::vector<Part> parts_;
  at::Tensor gpu_levels_;
};

// Reads rows [first, first + count) of a weight as f32; from several threads at once.
using RowReader = std::function<void(float* rows, int64_t first, int64_t count)>;

// Fills a weight, which errors name, a few rows at a time, on the CPU whence one of a GPU is copied:
// - kInt8: scale = max |row| / 127, code = 128 + round(x 127 / max |row|), ties to even;
// - kInt4: of each 32 values the one furthest from zero becomes -8: scale = it / -8, kept as f16;
//   code = min(15, floor(x / scale + 8.5)), as GGUF's Q4_0;
// - kNf4: absmax of each 64 values of a row, the level nearest to x / absmax; the absmaxes less their mean in blocks of
//   256, each the nearest of 256 dynamic levels times the block's largest (QLoRA, arXiv 2305.14314, section 3).
// ERR_RANGE when a number is not finite.
void quantise(QuantWeight& weight, const std::string& name, const RowReader& read);
void quantise(QuantWeight& weight, const std::string& name, const at::Tensor& plain_NK);

// The 256 levels of an absmax, in order: bitsandbytes' dynamic map of 8 bits with a sign.
const float* nf4_absmax_levels();

}  // namespace seekrl::ops
