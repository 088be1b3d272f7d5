// W is the left matrix of mma.m16n8k16, rows of x the right one. A lane multiplies what it loaded: any order along k
// will do where W and x have the same one, any order of outputs where the sums are put in place at the end.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/quant/codes.cuh"

namespace seekrl::cuda {

namespace {

constexpr int kWarps = 8, kThreads = kWarps * 32;
// Blocks on a multiprocessor at once: 64 registers a thread for one tile of x, 128 for two.
template <int kTiles>
constexpr int kMinBlocks = kTiles == 1 ? 4 : 2;

template <class Number>
__device__ __forceinline__ uint4 load_x(const QuantProduct& call, int64_t row, int64_t k) {
  if (row >= call.num_rows || k >= call.weight.k) return {0, 0, 0, 0};
  return *reinterpret_cast<const uint4*>(static_cast<const Number*>(call.x_MK) + row * call.weight.k + k);
}

// Adds up the warps' parts [kWarps][rows][kOutputs + 1] in their order and stores the rows that there are.
template <class Number, int kRows, int kOutputs>
__device__ __forceinline__ void join_warps(const QuantProduct& call, const float* parts) {
  constexpr int kStride = kOutputs + 1;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kOutputs; i += kThreads) {
    const int row = i / kOutputs, output = i % kOutputs;
    const int64_t n = int64_t{blockIdx.x} * kOutputs + output;
    if (row >= call.num_rows || n >= call.weight.n) continue;
    float sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += parts[(warp * kRows + row) * kStride + output];
    if (call.weight.kind == QuantKind::kInt8) sum *= call.weight.channel_scales_N[n];
    const int64_t at = row * call.weight.n + n;
    if (call.out_dtype == Dtype::kFloat) {
      static_cast<float*>(call.out_MN)[at] = sum;
    } else {
      static_cast<Number*>(call.out_MN)[at] = from_float<Number>(sum);
    }
  }
}

// Sums of a lane: of tile t of x, of pair s of its four outputs: [output of the pair][row of x].
template <int kTiles>
using Sums = float[kTiles][2][4];

// What a lane multiplies at once: 4 outputs, 8 neighbours along k, rows of x.
template <QuantKind kKind, int kTiles>
struct PanelPart {
  static constexpr bool kIsByte = kKind == QuantKind::kInt8;
  uint4 codes[kIsByte ? 2 : 1] = {};
  uint4 x[kTiles];
  uint2 scales = {};  // kInt4: of the 4 outputs

  // Lanes of a panel: four along the outputs, of each four along k.
  template <class Number>
  __device__ __forceinline__ void load(const QuantProduct& call, int64_t panel, int64_t block) {
    const int64_t lane = threadIdx.x % 32, a = lane / 4 % 4, q = lane % 4;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) x[t] = load_x<Number>(call, t * 8 + lane / 4, block * kQuantBlock + q * 8);
    if (panel >= ceil_divide(call.weight.n, kQuantLanes)) return;
    const int64_t at = panel * ceil_divide(call.weight.k, kQuantBlock) + block;
    if constexpr (kIsByte) {
      const uint8_t* const from = call.weight.codes + at * 512 + q * 128 + a * 16;
      codes[0] = *reinterpret_cast<const uint4*>(from);
      codes[1] = *reinterpret_cast<const uint4*>(from + 64);
    } else {
      codes[0] = *reinterpret_cast<const uint4*>(call.weight.codes + at * 256 + q * 64 + a * 16);
      scales = *reinterpret_cast<const uint2*>(call.weight.block_scales + at * kQuantLanes + a * 4);
    }
  }

  // Codes of an output: of values 0 and 2 (first) or 1 and 3 of half `half` of the eight.
  template <class Number>
  __device__ __forceinline__ uint32_t pair(int output, int half, bool is_first) const {
    if constexpr (kIsByte) return byte_pair(Number{}, word_of(codes[half], output) >> (is_first ? 0 : 8));
    return nibble_pair(Number{}, word_of(codes[0], output) >> (half * 4 + (is_first ? 0 : 8)));
  }

  template <class Number>
  __device__ __forceinline__ void multiply(Sums<kTiles>& sums) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const uint32_t w[4] = {pair<Number>(2 * s, half, true), pair<Number>(2 * s + 1, half, true),
                               pair<Number>(2 * s, half, false), pair<Number>(2 * s + 1, half, false)};
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          const uint32_t low = word_of(x[t], half * 2), high = word_of(x[t], half * 2 + 1);
          mma(Number{}, sums[t][s], w, (low & 0xffff) | high << 16, low >> 16 | (high & 0xffff0000u));
        }
      }
    }
  }

  template <class Number>
  __device__ __forceinline__ void add_to(Sums<kTiles>& sums) const {
    if constexpr (kIsByte) {
      multiply<Number>(sums);
    } else {
      Sums<kTiles> block = {};
      multiply<Number>(block);
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const uint32_t pair = s == 0 ? scales.x : scales.y;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          for (int t = 0; t < kTiles; ++t) sums[t][s][i] += unpack<F16>(pair, i / 2) * block[t][s][i];
        }
      }
    }
  }
};

// A block: two panels.
template <class Number, QuantKind kKind, int kTiles>
__global__ void __launch_bounds__(kThreads, kMinBlocks<kTiles>) panel_product(QuantProduct call) {
  constexpr int kRows = kTiles * 8, kOutputs = 2 * kQuantLanes, kStride = kOutputs + 1;
  SEEKRL_SHARED(float, parts, kWarps * kRows * kStride);
  const auto lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t panel = int64_t{blockIdx.x} * 2 + lane / 16, num_blocks = ceil_divide(call.weight.k, kQuantBlock);
  Sums<kTiles> sums = {};
  PanelPart<kKind, kTiles> next;
  if (warp < num_blocks) next.template load<Number>(call, panel, warp);
  for (int64_t block = warp; block < num_blocks; block += kWarps) {
    const PanelPart<kKind, kTiles> part = next;
    if (block + kWarps < num_blocks) next.template load<Number>(call, panel, block + kWarps);
    part.template add_to<Number>(sums);
  }
#pragma unroll
  for (int i = 0; i < kTiles * 8; ++i) {
    const int t = i / 8, s = i / 4 % 2, row = t * 8 + lane % 4 * 2 + i % 2, output = lane / 4 * 4 + s * 2 + i % 4 / 2;
    parts[(warp * kRows + row) * kStride + output] = sums[t][s][i % 4];
  }
  join_warps<Number, kRows, kOutputs>(call, parts);
}

// What a lane multiplies of NF4 at once: outputs lane / 4 and that + 8, 32 neighbours along k of the warp's 128.
template <int kTiles>
struct Nf4Part {
  uint4 codes[2] = {};
  float absmax[2] = {};
  uint4 x[kTiles][4];

  template <class Number>
  __device__ __forceinline__ void load(const QuantProduct& call, int64_t chunk) {
    const int64_t lane = threadIdx.x % 32, k = chunk * 128 + lane % 4 * 32;
#pragma unroll
    for (int i = 0; i < kTiles * 4; ++i) x[i / 4][i % 4] = load_x<Number>(call, i / 4 * 8 + lane / 4, k + i % 4 * 8);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int64_t n = int64_t{blockIdx.x} * kQuantLanes + lane / 4 + i * 8;
      if (n >= call.weight.n || k >= call.weight.k) continue;
      const int64_t row_bytes = ceil_divide(call.weight.k, kNf4Block) * (kNf4Block / 2);
      codes[i] = *reinterpret_cast<const uint4*>(call.weight.codes + n * row_bytes + k / 2);
      absmax[i] = absmax_of(call.weight, n, k / kNf4Block);
    }
  }

  template <class Number>
  __device__ __forceinline__ uint32_t pair(const float* levels, int output, int byte) const {
    const uint32_t code = word_of(codes[output], byte / 4) >> byte % 4 * 8;
    return pack<Number>(levels[code >> 4 & 15] * absmax[output], levels[code & 15] * absmax[output]);
  }

  template <class Number>
  __device__ __forceinline__ void add_to(float (&sums)[kTiles][4], const float* levels) const {
#pragma unroll
    for (int step = 0; step < 8; ++step) {
      const uint32_t w[4] = {pair<Number>(levels, 0, step * 2), pair<Number>(levels, 1, step * 2),
                             pair<Number>(levels, 0, step * 2 + 1), pair<Number>(levels, 1, step * 2 + 1)};
#pragma unroll
      for (int t = 0; t < kTiles; ++t) {
        const uint4& from = x[t][step / 2];
        mma(Number{}, sums[t], w, word_of(from, step % 2 * 2), word_of(from, step % 2 * 2 + 1));
      }
    }
  }
};

// A block: 16 outputs. The levels are in 16 banks: lanes that look up different ones do not wait for one another.
template <class Number, int kTiles>
__global__ void __launch_bounds__(kThreads, kMinBlocks<kTiles>) nf4_product(QuantProduct call) {
  constexpr int kRows = kTiles * 8, kStride = kQuantLanes + 1;
  SEEKRL_SHARED(float, parts, kWarps * kRows * kStride);
  SEEKRL_SHARED(float, levels, 16);
  if (threadIdx.x < 16) levels[threadIdx.x] = call.weight.levels[threadIdx.x];
  __syncthreads();
  const auto lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  float sums[kTiles][4] = {};
  for (int64_t chunk = warp; chunk < ceil_divide(call.weight.k, 128); chunk += kWarps) {
    Nf4Part<kTiles> part;
    part.template load<Number>(call, chunk);
    part.template add_to<Number>(sums, levels);
  }
#pragma unroll
  for (int i = 0; i < kTiles * 4; ++i) {
    const int row = i / 4 * 8 + lane % 4 * 2 + i % 2, output = lane / 4 + i % 4 / 2 * 8;
    parts[(warp * kRows + row) * kStride + output] = sums[i / 4][i % 4];
  }
  join_warps<Number, kRows, kQuantLanes>(call, parts);
}

template <class Number, int kTiles>
Status launch_product(const QuantProduct& call, void* stream) {
  const bool is_nf4 = call.weight.kind == QuantKind::kNf4;
  const auto kernel = is_nf4                                 ? &nf4_product<Number, kTiles>
                      : call.weight.kind == QuantKind::kInt8 ? &panel_product<Number, QuantKind::kInt8, kTiles>
                                                             : &panel_product<Number, QuantKind::kInt4, kTiles>;
  const dim3 grid(blocks_of(call.weight.n, is_nf4 ? kQuantLanes : 2 * kQuantLanes));
  return launch(kernel, grid, dim3(kThreads), 0, stream, call);
}

}  // namespace

Status quant_product(const QuantProduct& call, void* stream) {
  if (call.num_rows == 0 || call.weight.n == 0) return nullptr;
  if (call.num_rows > kMaxQuantRows) return "quantised product: expected at most 16 rows";
  if (call.weight.k % 8 != 0) return "quantised product: expected inputs that are a multiple of 8";
  if (call.out_dtype != call.dtype && call.out_dtype != Dtype::kFloat)
    return "quantised product: out: expected f32 or x's";
  const bool is_small = call.num_rows <= 8;
  return with_number(call.dtype, "quantised product: expected x in 16 bits", [&]<class Number>() {
    return is_small ? launch_product<Number, 1>(call, stream) : launch_product<Number, 2>(call, stream);
  });
}

}  // namespace seekrl::cuda
