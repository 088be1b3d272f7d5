// One pass for the maxima, one for all sums, those of the bound, one for the sums of what is kept; the draw then walks
// a single block of weights.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/philox.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/sampling/bound.cuh"
#include "kernels/cuda/sampling/sampler.h"

namespace seekrl::cuda {

namespace {

// Sums over each block of weights: of the row's own distribution, of the one at temperature 1, of what may be drawn.
enum Sums { kTotal, kWeighted, kUnitTotal, kUnitWeighted, kKept, kNumSums };

struct SampleScratch {
  BoundScratch bound;
  float sums[kNumSums][kMaxBlocks];
  double totals[kNumSums];
  float parts[2][kRowThreads / 32];
  int from_end;  // of the first maximum
  int drawn_block;
  double target;  // within it
};

struct Maxima {
  float plain, edited;
  int first;  // index of the edited one
};

template <bool kIsAligned>
__device__ Maxima find_maxima(const Row& row, SampleScratch& scratch) {
  Maxima own{kForbidden, kForbidden, row.logits.size};
  each_block(row.logits, [&](int block) {
    each_edited_four<kIsAligned>(row, block, [&](int v, const float (&z)[4], const float (&edited)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        own.plain = fmaxf(own.plain, z[j]);
        if (edited[j] > own.edited) {
          own.edited = edited[j];
          own.first = v + j;
        }
      }
    });
  });
  if (threadIdx.x == 0) scratch.from_end = 0;
  const float plain = reduce_block<Max, kRowThreads>(own.plain, scratch.parts[0]);
  const float edited = reduce_block<Max, kRowThreads>(own.edited, scratch.parts[1]);
  if (own.edited == edited) atomicMax(&scratch.from_end, row.logits.size - own.first);
  __syncthreads();
  return {plain, edited, row.logits.size - scratch.from_end};
}

// What each pass over the weights knows.
struct Pass {
  Scale plain, edited, unit;
  float bound;
  bool has_unit, has_draw, has_limits;
};

template <bool kIsAligned>
__device__ void sum_all(const Row& row, SampleScratch& scratch, const Pass& pass) {
  each_block(row.logits, [&](int block) {
    float sums[kNumSums][4] = {};
    each_edited_four<kIsAligned>(row, block, [&](int, const float (&z)[4], const float (&edited)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        add_weighted(sums[kTotal][j], sums[kWeighted][j], pass.plain, z[j]);
        if (pass.has_unit) add_weighted(sums[kUnitTotal][j], sums[kUnitWeighted][j], pass.unit, z[j]);
        if (!pass.has_draw) continue;
        const float weight = weight_of(pass.edited, edited[j]);
        if (weight >= pass.bound) sums[kKept][j] += weight;
        if (pass.has_limits && weight > 0) scratch.bound.high.add(bits_of(weight) >> kHighShift, weight);
      }
    });
#pragma unroll
    for (int which = 0; which < kNumSums; ++which) put_sum(scratch.sums[which], row.logits, block, sums[which]);
  });
  __syncthreads();
}

template <bool kIsAligned>
__device__ void sum_kept(const Row& row, SampleScratch& scratch, const Scale& scale, float bound) {
  each_block(row.logits, [&](int block) {
    float sums[4] = {};
    each_edited_four<kIsAligned>(row, block, [&](int, const float (&)[4], const float (&edited)[4]) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float weight = weight_of(scale, edited[j]);
        if (weight >= bound) sums[j] += weight;
      }
    });
    put_sum(scratch.sums[kKept], row.logits, block, sums);
  });
  __syncthreads();
}

// The first index at which the running sum passes `target`, which is lowered by the sum before it; should rounding
// leave the sum short, the last index that is not zero. A warp calls; `values` is called with indices below `size`.
template <class ValueOf>
__device__ int walk(int size, double& target, const ValueOf& value_of) {
  const int lane = static_cast<int>(threadIdx.x) % 32, part = (size + 31) / 32;
  const int first = min(lane * part, size), end = min(first + part, size);
  double own = 0;
  for (int i = first; i < end; ++i) own += value_of(i);
  double until = own;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    const double before = __shfl_up_sync(~0u, until, by);
    if (lane >= by) until += before;
  }
  double sum = __shfl_up_sync(~0u, until, 1);
  if (lane == 0) sum = 0;
  const uint32_t passing = __ballot_sync(~0u, own > 0 && until > target), filled = __ballot_sync(~0u, own > 0);
  const int from = passing != 0 ? __ffs(static_cast<int>(passing)) - 1 : 31 - __clz(static_cast<int>(filled));
  int found = first;
  double before = sum;
  for (int i = first; i < end && sum <= target; ++i) {
    const double value = value_of(i);
    if (value > 0) {
      found = i;
      before = sum;
    }
    sum += value;
  }
  target -= __shfl_sync(~0u, before, from);
  return __shfl_sync(~0u, found, from);
}

// Neighbours of a lane's part in shared memory lie in other banks than those of the next lane's.
__device__ __forceinline__ int padded(int i) { return i + i / 32; }

// Draws in proportion to the weights that are at least `bound`; the first thread gets the token.
__device__ int draw(const Row& row, SampleScratch& scratch, const Scale& scale, float bound, double u) {
  const int t = static_cast<int>(threadIdx.x);
  if (t < 32) {
    double target = u * scratch.totals[kKept];
    const int num_blocks = row.logits.num_blocks();
    const int block = walk(num_blocks, target, [&](int b) { return double{scratch.sums[kKept][b]}; });
    if (t == 0) {
      scratch.drawn_block = block;
      scratch.target = target;
    }
  }
  __syncthreads();
  const int start = scratch.drawn_block * kBlock, count = min(kBlock, row.logits.size - start);
  float* const weights = scratch.bound.listed;
  for (int i = t; i < count; i += kRowThreads) {
    const float weight = weight_of(scale, edited_logit(row, start + i));
    weights[padded(i)] = weight >= bound ? weight : 0.0f;
  }
  __syncthreads();
  if (t >= 32) return 0;
  double target = scratch.target;
  return start + walk(count, target, [&](int i) { return double{weights[padded(i)]}; });
}

// The bound, and the sums of what is kept where they are not there yet.
template <bool kIsAligned>
__device__ float keep(const Row& row, SampleScratch& scratch, const Pass& pass) {
  if (!pass.has_limits) return pass.bound;
  Weights weights{&row, pass.edited, 0, 0};
  const float bound = max(pass.bound, least_kept<kIsAligned>(scratch.bound, weights));
  sum_kept<kIsAligned>(row, scratch, pass.edited, bound);
  add_blocks<kNumSums>(scratch.totals, scratch.sums, row.logits);
  return bound;
}

__device__ __forceinline__ Pass pass_of(const SampleRow& options, int vocab_size, const Maxima& maxima) {
  const bool is_greedy = options.temperature == 0;
  const auto inverse = static_cast<float>(is_greedy ? 1 : 1 / options.temperature);
  Pass pass{};
  pass.plain = {inverse, maxima.plain * inverse};
  pass.edited = {inverse, maxima.edited * inverse};
  pass.unit = {1, maxima.plain};
  pass.has_unit = options.wants_entropy != 0 && inverse != 1;
  pass.has_draw = !is_greedy && maxima.edited != kForbidden;
  pass.has_limits = pass.has_draw && (options.top_p < 1 || (options.top_k > 0 && options.top_k < vocab_size));
  // The largest is 1 but for the rounding of logit / temperature.
  if (options.min_p > 0) {
    pass.bound = static_cast<float>(options.min_p * double{weight_of(pass.edited, maxima.edited)});
  }
  return pass;
}

// Lists the likeliest tokens, a pass for each: the first of the largest logits behind the one before.
template <bool kIsAligned>
__device__ void list_top(const Row& row, SampleScratch& scratch, const Scale& scale, float log_sum,
                         kernels::TopToken* top_K) {
  float last = INFINITY;
  int last_token = -1;
  for (int k = 0; k < row.options.num_top; ++k) {
    float own = kForbidden;
    int first = row.logits.size;
    each_block(row.logits, [&](int block) {
      each_four<kIsAligned>(row.logits, block, [&](int v, const float (&z)[4]) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const bool is_behind = z[j] < last || (z[j] == last && v + j > last_token);
          const bool is_first = z[j] > own || (first == row.logits.size && v + j < row.logits.size);
          if (!is_behind || !is_first) continue;
          own = z[j];
          first = v + j;
        }
      });
    });
    if (threadIdx.x == 0) scratch.from_end = 0;
    last = reduce_block<Max, kRowThreads>(own, scratch.parts[0]);
    if (own == last) atomicMax(&scratch.from_end, row.logits.size - first);
    __syncthreads();
    last_token = row.logits.size - scratch.from_end;
    if (threadIdx.x == 0) top_K[k] = {last_token, (last * scale.inverse_temperature - scale.max) - log_sum};
    __syncthreads();
  }
}

template <bool kIsAligned>
__global__ void __launch_bounds__(kRowThreads, 1) sample_rows(SampleCall call) {
  SEEKRL_DYNAMIC_SHARED(SampleScratch, shared);
  SampleScratch& scratch = *shared;
  const SampleRow& options = call.rows_R[blockIdx.x];
  const Row row{{call.logits_RV + blockIdx.x * call.vocab_size, static_cast<int>(call.vocab_size), call.softcap},
                options,
                options.mask != nullptr || options.num_edits > 0};
  DrawnToken& drawn = call.drawn_R[blockIdx.x];
  const Maxima maxima = find_maxima<kIsAligned>(row, scratch);
  const Pass pass = pass_of(options, row.logits.size, maxima);
  if (pass.has_limits) scratch.bound.high.clear();
  __syncthreads();
  sum_all<kIsAligned>(row, scratch, pass);
  add_blocks<kNumSums>(scratch.totals, scratch.sums, row.logits);
  const auto log_sum = static_cast<float>(log(scratch.totals[kTotal]));
  // What is taken from a logit times the inverse temperature.
  const float told_max = call.gives_logits ? 0.0f : pass.plain.max, told_log_sum = call.gives_logits ? 0.0f : log_sum;
  // Of numbers that cannot be ordered nothing is selected.
  const bool is_finite = fabsf(pass.plain.max + log_sum) < INFINITY;
  int token = maxima.first;
  if (is_finite && pass.has_draw) {
    const auto position = static_cast<uint64_t>(call.num_tokens_R[blockIdx.x]);
    const double u = uniform(options.seed, kernels::kSamplingStream, position);
    const float bound = keep<kIsAligned>(row, scratch, pass);
    token = draw(row, scratch, pass.edited, bound, u);
  }
  if (is_finite && options.num_top > 0) {
    list_top<kIsAligned>(row, scratch, {pass.plain.inverse_temperature, told_max}, told_log_sum,
                         call.top_RK + blockIdx.x * kernels::kMaxTop);
  }
  if (threadIdx.x != 0) return;
  if (!is_finite) {
    drawn = {0, NAN, 0};
  } else if (maxima.edited == kForbidden) {
    drawn = {-1, 0, 0};
  } else {
    const Sums of = pass.has_unit ? kUnitTotal : kTotal, weighted = pass.has_unit ? kUnitWeighted : kWeighted;
    const float logprob = (row.logits.at(token) * pass.plain.inverse_temperature - told_max) - told_log_sum;
    drawn = {token, logprob,
             options.wants_entropy != 0 ? entropy_of(scratch.totals[of], scratch.totals[weighted]) : 0.0f};
  }
}

}  // namespace

Status sample(const SampleCall& call, void* stream) {
  if (call.num_rows == 0) return nullptr;
  if (call.vocab_size < 1 || call.vocab_size > kMaxVocabSize) return "sample: expected 1 to 327,680 logits a row";
  const bool is_aligned = call.vocab_size % 4 == 0 && reinterpret_cast<uintptr_t>(call.logits_RV) % 16 == 0;
  return launch(is_aligned ? &sample_rows<true> : &sample_rows<false>, dim3(static_cast<unsigned>(call.num_rows)),
                dim3(kRowThreads), sizeof(SampleScratch), stream, call);
}

}  // namespace seekrl::cuda
