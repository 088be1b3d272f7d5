// The arrays of a quantised weight.
#include "ops/quant/quant_weight.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "kernels/dynamic_map.h"
#include "kernels/products/bf16.h"
#include "ops/parallel.h"
#include "ops/scratch.h"
#include "ops/weight_memory.h"

namespace seekrl::ops {

namespace {

using kernels::CodeForm, kernels::kAbsmaxBlock;

// Of all kinds but kNf4.
CodeForm form_of(QuantKind kind) { return kind == QuantKind::kInt8 ? CodeForm::kByte : CodeForm::kNibble; }

at::Tensor levels_on(at::Device device) {
  std::array<float, 16 + 256> levels;
  std::copy_n(kernels::kNf4Levels, 16, levels.begin());
  std::copy_n(nf4_absmax_levels(), 256, levels.begin() + 16);
  return at::from_blob(levels.data(), {std::ssize(levels)}, at::kFloat).to(device);
}

// The numbers of the map in ascending order.
std::array<float, 256> absmax_levels() {
  std::array<float, 256> levels;
  std::copy_n(kernels::signed_map().decoded, levels.size(), levels.begin());
  std::sort(levels.begin(), levels.end());
  return levels;
}

}  // namespace

const float* nf4_absmax_levels() {
  static const std::array<float, 256> levels = absmax_levels();
  return levels.data();
}

QuantKind to_quant_kind(const std::string& name) {
  if (name == "int8") return QuantKind::kInt8;
  if (name == "int4") return QuantKind::kInt4;
  if (name == "nf4") return QuantKind::kNf4;
  fail(ErrorCode::kArgument, "weights: expected int8, int4 or nf4, got ", name);
}

QuantWeight::QuantWeight(QuantKind kind, int64_t n, int64_t k, at::Device device) : kind_(kind), n_(n), k_(k) {
  require(device.is_cpu() || k % 8 == 0, ErrorCode::kShape, "quantised weights on ", device,
          ": expected inputs that are a multiple of 8, got ", k);
  const auto zeros = [&](at::IntArrayRef shape, at::ScalarType dtype) {
    return zero_weight(shape, at::device(device).dtype(dtype));
  };
  if (kind == QuantKind::kNf4) {
    if (!device.is_cpu()) gpu_levels_ = levels_on(device);
    const int64_t blocks = kernels::num_nf4_blocks(k);
    parts_ = {{"codes", zeros({n, blocks * kernels::kNf4Block / 2}, at::kByte)},
              {"absmax", zeros({n, blocks}, at::kByte)},
              {"absmax_scales", zeros({(n * blocks + kAbsmaxBlock - 1) / kAbsmaxBlock}, at::kFloat)},
              {"absmax_mean", zeros({1}, at::kFloat)}};
    return;
  }
  const CodeForm form = form_of(kind);
  const int64_t panels = kernels::num_quant_panels(n), blocks = kernels::num_quant_blocks(k);
  parts_ = {{"codes", zeros({panels, blocks * kernels::panel_block_bytes(form)}, at::kByte)}};
  if (form == CodeForm::kByte) {
    parts_.push_back({"scales", zeros({panels * kernels::kQuantLanes}, at::kFloat)});
    return;
  }
  parts_.push_back({"scales", zeros({panels, blocks, kernels::kQuantLanes}, at::kHalf)});
}

template <class Element>
Element* QuantWeight::data(size_t part) const {
  return static_cast<Element*>(parts_[part].value.mutable_data_ptr());
}

kernels::CodePanels QuantWeight::panels() const {
  kernels::CodePanels panels;
  panels.form = form_of(kind_);
  panels.codes = data<uint8_t>(0);
  panels.num_blocks = kernels::num_quant_blocks(k_);
  if (panels.form == CodeForm::kByte) {
    panels.channel_scales = data<float>(1);
  } else {
    panels.scales = data<uint16_t>(1);
  }
  return panels;
}

void QuantWeight::put_block(int64_t n, int64_t block, const uint8_t* codes, uint16_t scale) {
  const int64_t blocks = kernels::num_quant_blocks(k_);
  const int64_t place = (n / kernels::kQuantLanes * blocks + block) * kernels::kQuantLanes + n % kernels::kQuantLanes;
  kernels::put_block(data<uint8_t>(0), form_of(kind_), blocks, n, block, codes);
  data<uint16_t>(1)[place] = scale;
}

void QuantWeight::rows_to_bf16(uint16_t* to, int64_t first, int64_t count) const {
  if (kind_ != QuantKind::kNf4) {
    const kernels::CodePanels from = panels();
    for (int64_t row = 0; row < count; ++row) kernels::codes_to_bf16(to + row * k_, from, first + row, k_);
    return;
  }
  const int64_t blocks = kernels::num_nf4_blocks(k_);
  const uint8_t *codes = data<uint8_t>(0), *absmax = data<uint8_t>(1);
  const float *scales = data<float>(2), *levels = nf4_absmax_levels(), mean = data<float>(3)[0];
  float* const found = scratch<float, Scratch::kAbsmax>(blocks);
  for (int64_t row = first; row < first + count; ++row) {
    for (int64_t i = row * blocks; i < (row + 1) * blocks; ++i) {
      const float deviation = levels[absmax[i]] * scales[i / kAbsmaxBlock];
      found[i - row * blocks] = deviation + mean;
    }
    kernels::nf4_to_bf16(to + (row - first) * k_, codes + row * blocks * kernels::kNf4Block / 2, found, k_);
  }
}

void QuantWeight::copy_from(const QuantWeight& other) {
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i].value.copy_(other.parts_[i].value);
}

at::Tensor QuantWeight::to_float() const {
  if (!is_on_cpu()) {
    QuantWeight here(kind_, n_, k_);
    here.copy_from(*this);
    return here.to_float();
  }
  at::Tensor weight_NK = at::empty({n_, k_}, at::device(at::kCPU).dtype(at::kFloat));
  float* to = weight_NK.mutable_data_ptr<float>();
  claim_items(n_, n_ * k_ * 4, [&](int64_t row) {
    if (kind_ != QuantKind::kNf4) {
      for (int64_t i = 0; i < k_; ++i) to[row * k_ + i] = kernels::code_value(panels(), row, i);
      return;
    }
    uint16_t* const values = scratch<uint16_t, Scratch::kRows>(k_);
    rows_to_bf16(values, row, 1);
    for (int64_t i = 0; i < k_; ++i) to[row * k_ + i] = kernels::from_bf16(values[i]);
  });
  return weight_NK;
}

}  // namespace seekrl::ops
