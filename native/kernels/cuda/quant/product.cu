// Codes arrive in shared memory as a product's right factor does, become numbers there, and are multiplied as such.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/product/kernel.cuh"
#include "kernels/cuda/quant/codes.cuh"

namespace seekrl::cuda {

namespace {

// What kProductDepth inputs of kN outputs take in shared memory, and how they become a strip of numbers. Arrays of
// every kind are brought in pieces of 16 bytes.
template <class Number, QuantKind kKind, class Tiling>
struct CodeStrip {
  static constexpr int kN = Tiling::kN, kThreads = Tiling::kThreads, kStride = kRowStride<kProductDepth>;
  static constexpr bool kIsByte = kKind == QuantKind::kInt8, kIsNf4 = kKind == QuantKind::kNf4;
  static constexpr int kBlocks = kProductDepth / kQuantBlock;
  // Of panels: their codes, then the scales of kInt4. Of kNf4: rows of codes.
  static constexpr int kBlockPieces = kIsByte ? 32 : 16, kPanels = kN / kQuantLanes;
  static constexpr int kCodePieces = kIsNf4 ? kN * 2 : kPanels * kBlocks * kBlockPieces;
  static constexpr int kScalePieces = kKind == QuantKind::kInt4 ? kPanels * kBlocks * 2 : 0;
  static constexpr int kBytes = (kCodePieces + kScalePieces) * 16;
  static_assert(Tiling::kDepth == kProductDepth && (!kIsNf4 || kCodePieces == kThreads));

  // Piece i of an array that has kPieces of them for each block of a panel, one block behind the other; null where the
  // weight has no such block.
  template <int kPieces>
  static __device__ __forceinline__ const uint8_t* panel_piece(const QuantMatrix& weight, const void* array,
                                                               int64_t first, int64_t step, int i) {
    const int64_t panel = first / kQuantLanes + i / (kBlocks * kPieces);
    const int64_t block = step * kBlocks + i / kPieces % kBlocks, num_blocks = ceil_divide(weight.k, kQuantBlock);
    if (panel >= ceil_divide(weight.n, kQuantLanes) || block >= num_blocks) return nullptr;
    return static_cast<const uint8_t*>(array) + ((panel * num_blocks + block) * kPieces + i % kPieces) * 16;
  }
  static __device__ __forceinline__ const uint8_t* nf4_piece(const QuantMatrix& weight, int64_t first, int64_t step,
                                                             int i) {
    const int64_t row = first + i / 2, row_bytes = ceil_divide(weight.k, kNf4Block) * (kNf4Block / 2);
    return row < weight.n ? weight.codes + row * row_bytes + step * (kNf4Block / 2) + i % 2 * 16 : nullptr;
  }

  // Outputs from `first` on.
  static __device__ __forceinline__ void fetch(uint8_t* to, const QuantMatrix& weight, int64_t first, int64_t step) {
    const auto copy = [&](int piece, const uint8_t* from) {
      copy_async_16_or_zero(to + piece * 16, from, from != nullptr);
    };
    for (int i = static_cast<int>(threadIdx.x); i < kCodePieces; i += kThreads) {
      if constexpr (kIsNf4) {
        copy(i, nf4_piece(weight, first, step, i));
      } else {
        copy(i, panel_piece<kBlockPieces>(weight, weight.codes, first, step, i));
      }
    }
    for (int i = static_cast<int>(threadIdx.x); i < kScalePieces; i += kThreads) {
      copy(kCodePieces + i, panel_piece<2>(weight, weight.block_scales, first, step, i));
    }
  }

  // A piece of a panel has 4 outputs.
  static __device__ __forceinline__ void decode_panels(uint16_t* to, const uint8_t* strip, const float* scales) {
    for (int i = static_cast<int>(threadIdx.x); i < kCodePieces; i += kThreads) {
      const uint4 codes = *reinterpret_cast<const uint4*>(strip + i * 16);
      const int block = i / kBlockPieces, row = block / kBlocks * kQuantLanes + i % 4 * 4;
      const int place = i % kBlockPieces / 4, column = block % kBlocks * kQuantBlock + place * (kIsByte ? 4 : 8);
#pragma unroll
      for (int o = 0; o < 4; ++o) {
        uint16_t* const at = to + (row + o) * kStride + column;
        if constexpr (kIsByte) {
          *reinterpret_cast<uint2*>(at) = numbers_of_bytes<Number>(word_of(codes, o), scales[row + o]);
        } else {
          const auto* const halves = reinterpret_cast<const uint16_t*>(strip + kCodePieces * 16);
          const float scale = to_float(F16{halves[block * kQuantLanes + i % 4 * 4 + o]});
          *reinterpret_cast<uint4*>(at) = numbers_of_nibbles<Number>(word_of(codes, o), scale);
        }
      }
    }
  }

  // A thread: half a row, whose absmax it has.
  static __device__ __forceinline__ void decode_nf4(uint16_t* to, const uint8_t* strip, const float* levels,
                                                    float absmax) {
    const auto i = static_cast<int>(threadIdx.x);
    const uint4 codes = *reinterpret_cast<const uint4*>(strip + i * 16);
    auto* const at = reinterpret_cast<uint4*>(to + i / 2 * kStride + i % 2 * 32);
#pragma unroll
    for (int w = 0; w < 4; ++w) at[w] = numbers_of_levels<Number>(word_of(codes, w), levels, absmax);
  }
};

// A stage: the strip of x, then the codes. Behind the stages the strip of numbers.
template <class Number, QuantKind kKind, class Tiling>
struct QuantWork {
  using Codes = CodeStrip<Number, kKind, Tiling>;
  using Strip = FactorStrip<false, Tiling::kN, kProductDepth>;
  using Left = FactorStrip<false, Tiling::kM, kProductDepth>;
  static constexpr int kStages = Tiling::kStages, kStage = Left::kValues + Codes::kBytes / 2;
  static constexpr int kSharedBytes =
      std::max((kStages * kStage + Strip::kValues) * 2, Tiling::kM* kRowStride<Tiling::kN> * 4);

  __device__ __forceinline__ void fetch(int64_t step, int stage) {
    if (step < num_steps) {
      uint16_t* const to = shared + stage * kStage;
      Left::template fetch<Tiling::kThreads>(to, call.x_MK, call.x_stride, 0, call.num_rows, step * kProductDepth,
                                             call.weight.k);
      Codes::fetch(reinterpret_cast<uint8_t*>(to + Left::kValues), call.weight, first_column, step);
    }
    copy_async_commit();
  }

  // Of the thread's row at `step`.
  __device__ __forceinline__ float absmax_at(int64_t step) const {
    const int64_t row = first_column + static_cast<int>(threadIdx.x) / 2;
    const bool is_there = Codes::kIsNf4 && row < call.weight.n && step < num_steps;
    return is_there ? absmax_of(call.weight, row, step) : 0.0f;
  }

  // table: the outputs' scales (kInt8) or the levels (kNf4).
  __device__ __forceinline__ void multiply(ProductSums<Tiling>& sums, const float* table) {
    for (int step = 0; step < kStages - 1; ++step) fetch(step, step);
    uint16_t* const numbers = shared + kStages * kStage;
    float absmax = absmax_at(0);
    int stage = 0;
    for (int64_t step = 0; step < num_steps; ++step) {
      const float next_absmax = absmax_at(step + 1);
      copy_async_wait<kStages - 2>();
      __syncthreads();
      // Into the stage that all had done with before the barrier.
      fetch(step + kStages - 1, stage == 0 ? kStages - 1 : stage - 1);
      const uint16_t* const left = shared + stage * kStage;
      const auto* const codes = reinterpret_cast<const uint8_t*>(left + Left::kValues);
      if constexpr (Codes::kIsNf4) {
        Codes::decode_nf4(numbers, codes, table, absmax);
      } else {
        Codes::decode_panels(numbers, codes, table);
      }
      __syncthreads();
      multiply_strips<Number, Tiling, Left, Strip>(sums, left, numbers, place);
      absmax = next_absmax;
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
  }

  const QuantProduct& call;
  const int64_t first_column;
  uint16_t* const shared;  // kSharedBytes
  const int64_t num_steps = ceil_divide(call.weight.k, int64_t{kProductDepth});
  const WarpPlace<Tiling> place = {};
};

template <class Number, QuantKind kKind, class Tiling>
__global__ void __launch_bounds__(Tiling::kThreads, Tiling::kMinBlocks) multiply_codes(QuantProduct call) {
  SEEKRL_DYNAMIC_SHARED(uint16_t, shared);
  SEEKRL_SHARED(float, table, Tiling::kN);
  const auto thread = static_cast<int>(threadIdx.x);
  const int64_t first_column = int64_t{blockIdx.x} * Tiling::kN;
  if (kKind == QuantKind::kInt8 && thread < Tiling::kN) {
    const int64_t n = first_column + thread;
    table[thread] = n < call.weight.n ? call.weight.channel_scales_N[n] : 0.0f;
  }
  if (kKind == QuantKind::kNf4 && thread < 16) table[thread] = call.weight.levels[thread];
  ProductSums<Tiling> sums = {};
  QuantWork<Number, kKind, Tiling>{call, first_column, shared}.multiply(sums, table);
  Product product = {};
  product.out_MN = call.out_MN;
  product.bias_N = call.bias_N;
  product.out_stride = call.out_stride;
  product.m = call.num_rows;
  product.n = call.weight.n;
  product.out_dtype = call.out_dtype;
  store_sums<Number, Tiling>(product, sums, shared, 0, first_column);
}

template <class Number, QuantKind kKind, class Tiling>
Status launch_tiling(const QuantProduct& call, void* stream) {
  const dim3 grid(blocks_of(call.weight.n, Tiling::kN));
  return launch(&multiply_codes<Number, kKind, Tiling>, grid, dim3(Tiling::kThreads),
                QuantWork<Number, kKind, Tiling>::kSharedBytes, stream, call);
}

template <class Number, QuantKind kKind>
Status launch_kind(const QuantProduct& call, void* stream) {
  if (call.num_rows > 16) return launch_tiling<Number, kKind, Rows64>(call, stream);
  return launch_tiling<Number, kKind, Rows16Narrow>(call, stream);
}

}  // namespace

Status quant_product(const QuantProduct& call, void* stream) {
  if (call.num_rows == 0 || call.weight.n == 0) return nullptr;
  if (call.num_rows > kMaxQuantRows) return "quantised product: expected at most 64 rows";
  if (call.weight.k % 8 != 0 || call.x_stride % 8 != 0) return "quantised product: k, x: expected multiples of 8";
  if (!are_aligned({call.x_MK, call.weight.codes, call.weight.block_scales, call.bias_N}))
    return "quantised product: x, codes, scales, bias: expected multiples of 16 bytes";
  if (call.out_dtype != call.dtype && call.out_dtype != Dtype::kFloat)
    return "quantised product: out: expected f32 or x's";
  return with_number(call.dtype, "quantised product: expected x in 16 bits", [&]<class Number>() -> Status {
    switch (call.weight.kind) {
      case QuantKind::kInt8: return launch_kind<Number, QuantKind::kInt8>(call, stream);
      case QuantKind::kInt4: return launch_kind<Number, QuantKind::kInt4>(call, stream);
      case QuantKind::kNf4: return launch_kind<Number, QuantKind::kNf4>(call, stream);
    }
    return "quantised product: expected one of three kinds";
  });
}

}  // namespace seekrl::cuda
