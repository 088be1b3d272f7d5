// From f32 to codes and scales, rows at a time.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"
#include "kernels/products/bf16.h"
#include "ops/parallel.h"
#include "ops/quant/quant_weight.h"
#include "ops/scratch.h"

namespace seekrl::ops {

namespace {

using kernels::kNf4Block;
using kernels::kQuantBlock;
using kernels::kQuantLanes;

// Rows that a thread reads at once: a panel.
constexpr int64_t kQuantiseRows = kQuantLanes;

// `name` is the weight's, for errors.
float absmax_of(const float* x, int64_t count, const std::string& name) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i) most = std::max(most, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
  const auto absmax = std::bit_cast<float>(most);
  require(std::isfinite(absmax), ErrorCode::kRange, name, ": quantise: expected finite numbers");
  return absmax;
}

// To the nearest, ties to even, of |x| below 2^22.
float rounded(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

void to_int8(QuantWeight& weight, const std::string& name, const float* x, int64_t n) {
  const kernels::CodePanels panels = weight.panels();
  const float absmax = absmax_of(x, weight.k(), name);
  const bool is_zero = absmax <= kernels::kLeastQuant;
  const float inverse = is_zero ? 0 : 127.0f / absmax;
  const_cast<float*>(panels.channel_scales)[n] = is_zero ? 0 : absmax / 127.0f;
  for (int64_t block = 0; block < panels.num_blocks; ++block) {
    uint8_t codes[kQuantBlock];
    std::fill_n(codes, kQuantBlock, uint8_t{128});
    const int64_t count = std::min(kQuantBlock, weight.k() - block * kQuantBlock);
    for (int64_t j = 0; j < count; ++j) {
      codes[j] = static_cast<uint8_t>(static_cast<int32_t>(rounded(x[block * kQuantBlock + j] * inverse)) + 128);
    }
    kernels::put_block(const_cast<uint8_t*>(panels.codes), panels.form, panels.num_blocks, n, block, codes);
  }
}

void to_int4(QuantWeight& weight, const std::string& name, const float* x, int64_t n) {
  for (int64_t block = 0; block < kernels::num_quant_blocks(weight.k()); ++block) {
    const float* from = x + block * kQuantBlock;
    const int64_t count = std::min(kQuantBlock, weight.k() - block * kQuantBlock);
    const float absmax = absmax_of(from, count, name);
    const float furthest = *std::find_if(from, from + count, [&](float value) { return std::fabs(value) == absmax; });
    const float scale = furthest / -8.0f, inverse = absmax <= kernels::kLeastQuant ? 0 : 1.0f / scale;
    uint8_t codes[kQuantBlock];
    std::fill_n(codes, kQuantBlock, uint8_t{8});
    for (int64_t j = 0; j < count; ++j) {
      codes[j] = static_cast<uint8_t>(std::min(15, static_cast<int>(from[j] * inverse + 8.5f)));
    }
    require(std::fabs(scale) <= 65504.0f, ErrorCode::kRange, name, ": quantise: a weight is ", furthest,
            ", which int4 does not hold");
    weight.put_block(n, block, codes, kernels::to_f16(scale));
  }
}

// The middles between levels in order. A value's level is the number of middles below it.
template <size_t kCount>
std::array<float, kCount - 1> middles_of(const float* levels) {
  std::array<float, kCount - 1> middles;
  for (size_t i = 0; i + 1 < kCount; ++i) middles[i] = (levels[i] + levels[i + 1]) / 2;
  return middles;
}

void to_nf4(uint8_t* codes, float* absmax, const std::string& name, const float* x, int64_t k) {
  static const std::array<float, 15> middles = middles_of<16>(kernels::kNf4Levels);
  for (int64_t first = 0; first < k; first += kNf4Block) {
    const int64_t count = std::min(kNf4Block, k - first);
    const float most = absmax_of(x + first, count, name), inverse = most <= kernels::kLeastQuant ? 0 : 1.0f / most;
    absmax[first / kNf4Block] = most;
    // The level of zero is the seventh.
    uint8_t levels[kNf4Block];
    std::fill_n(levels, kNf4Block, uint8_t{7});
    for (int64_t i = 0; i < count; ++i) {
      const float value = x[first + i] * inverse;
      int level = 0;
      for (const float middle : middles) level += value > middle ? 1 : 0;
      levels[i] = static_cast<uint8_t>(level);
    }
    for (int64_t i = 0; i < kNf4Block; i += 2) {
      codes[(first + i) / 2] = static_cast<uint8_t>(levels[i] << 4 | levels[i + 1]);
    }
  }
}

// The second quantisation: of all absmaxes, in blocks of kAbsmaxBlock.
void set_absmaxes(const QuantWeight& weight, const std::string& name, std::vector<float>& absmaxes) {
  auto* codes = static_cast<uint8_t*>(weight.parts()[1].value.mutable_data_ptr());
  auto* scales = static_cast<float*>(weight.parts()[2].value.mutable_data_ptr());
  const double sum = std::accumulate(absmaxes.begin(), absmaxes.end(), 0.0);
  const auto mean = static_cast<float>(sum / static_cast<double>(absmaxes.size()));
  *static_cast<float*>(weight.parts()[3].value.mutable_data_ptr()) = mean;
  static const std::array<float, 255> middles = middles_of<256>(nf4_absmax_levels());
  constexpr auto kBlock = static_cast<size_t>(kernels::kAbsmaxBlock);
  for (size_t first = 0; first < absmaxes.size(); first += kBlock) {
    const size_t end = std::min(absmaxes.size(), first + kBlock);
    for (size_t i = first; i < end; ++i) absmaxes[i] -= mean;
    const float most = absmax_of(absmaxes.data() + first, static_cast<int64_t>(end - first), name);
    scales[first / kBlock] = most;
    const float inverse = most > kernels::kLeastQuant ? 1.0f / most : 0.0f;
    for (size_t i = first; i < end; ++i) {
      const auto above = std::lower_bound(middles.begin(), middles.end(), absmaxes[i] * inverse);
      codes[i] = static_cast<uint8_t>(above - middles.begin());
    }
  }
}

}  // namespace

void quantise(QuantWeight& weight, const std::string& name, const RowReader& read) {
  if (!weight.is_on_cpu()) {
    QuantWeight here(weight.kind(), weight.n(), weight.k());
    quantise(here, name, read);
    return weight.copy_from(here);
  }
  const QuantKind kind = weight.kind();
  const int64_t n = weight.n(), k = weight.k();
  const int64_t nf4_blocks = kernels::num_nf4_blocks(k);
  std::vector<float> absmaxes(kind == QuantKind::kNf4 ? static_cast<size_t>(n * nf4_blocks) : 0);
  auto* codes = static_cast<uint8_t*>(weight.parts()[0].value.mutable_data_ptr());
  claim_items((n + kQuantiseRows - 1) / kQuantiseRows, n * k * 4, [&](int64_t item) {
    const int64_t first = item * kQuantiseRows, count = std::min(kQuantiseRows, n - first);
    float* const rows = scratch<float, Scratch::kWeight>(kQuantiseRows * k);
    read(rows, first, count);
    for (int64_t i = 0; i < count; ++i) {
      const float* x = rows + i * k;
      const int64_t row = first + i;
      if (kind == QuantKind::kInt8) to_int8(weight, name, x, row);
      if (kind == QuantKind::kInt4) to_int4(weight, name, x, row);
      if (kind == QuantKind::kNf4) {
        to_nf4(codes + row * nf4_blocks * kNf4Block / 2, absmaxes.data() + row * nf4_blocks, name, x, k);
      }
    }
  });
  if (kind == QuantKind::kNf4) set_absmaxes(weight, name, absmaxes);
}

void quantise(QuantWeight& weight, const std::string& name, const at::Tensor& plain_NK) {
  require(plain_NK.sizes() == at::IntArrayRef({weight.n(), weight.k()}), ErrorCode::kShape, name,
          ": quantise: expected a weight [", weight.n(), ", ", weight.k(), "], got ", plain_NK.sizes());
  const at::Tensor plain = plain_NK.to(at::kCPU).contiguous();
  quantise(weight, name, [&](float* rows, int64_t first, int64_t count) {
    const at::Tensor part = plain.narrow(0, first, count).to(at::kFloat);
    std::copy_n(part.const_data_ptr<float>(), part.numel(), rows);
  });
}

}  // namespace seekrl::ops
