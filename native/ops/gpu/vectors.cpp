// Rows are contiguous on the GPU, so that one launch sees all of them.
#include "ops/gpu/vectors.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/gpu/gpu.h"
#include "ops/gpu/transfer.h"

namespace seekrl::ops {

namespace {

constexpr int64_t kWidthUnit = 16;

at::Tensor host_view(const void* values, at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::from_blob(const_cast<void*>(values), sizes, dtype);
}

// How many bits of each row are set.
at::Tensor ones_of(const void* rows, int64_t num_rows, int64_t row_bytes) {
  at::Tensor ones_N = at::empty({num_rows}, at::kInt);
  auto* const to = ones_N.mutable_data_ptr<int32_t>();
  const auto* from = static_cast<const char*>(rows);
  for (int64_t row = 0; row < num_rows; ++row) {
    to[row] = 0;
    for (int64_t at = 0; at < row_bytes; at += 8, from += 8) {
      uint64_t word;
      std::memcpy(&word, from, 8);
      to[row] += std::popcount(word);
    }
  }
  return ones_N;
}

// While it lives, rows are no hits: NaN stands in their scale or in their first number, kHiddenOnes for their ones.
class Hidden {
 public:
  Hidden(const at::Tensor& marks_N, const at::Tensor& hidden_N) : marks_N_(marks_N) {
    if (!hidden_N.defined()) return;
    kept_N_ = marks_N.clone();
    if (marks_N.scalar_type() == at::kInt)
      marks_N_.masked_fill_(hidden_N, cuda::kHiddenOnes);
    else
      marks_N_.masked_fill_(hidden_N, std::numeric_limits<float>::quiet_NaN());
  }
  // A GPU that refuses this copy has failed for good: whoever uses it next is told.
  ~Hidden() {
    try {
      if (kept_N_.defined()) marks_N_.copy_(kept_N_);
    } catch (const c10::Error&) {
    }
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

 private:
  at::Tensor marks_N_, kept_N_;
};

}  // namespace

GpuVectors::GpuVectors(int64_t dim, at::ScalarType dtype, int64_t capacity, at::Device device)
    : dim_(dim),
      stored_(dtype == at::kByte ? (dim + 63) / 64 * 8 : dim),
      width_((stored_ + kWidthUnit - 1) / kWidthUnit * kWidthUnit),
      capacity_(capacity) {
  const auto options = at::TensorOptions().device(device);
  rows_NE_ = at::empty({0, width_}, options.dtype(dtype));
  if (dtype == at::kChar) beside_N_ = at::empty({0}, options.dtype(at::kFloat));
  if (dtype == at::kByte) beside_N_ = at::empty({0}, options.dtype(at::kInt));
}

void GpuVectors::reserve(int64_t num_rows) {
  if (num_rows <= rows_NE_.size(0)) return;
  const int64_t size = std::min(capacity_, std::max(num_rows, rows_NE_.size(0) / 4 * 5));
  count_ = 0;
  // Empty ones stand where memory is not found.
  const auto grow = [size](at::Tensor& values) {
    std::vector<int64_t> sizes = values.sizes().vec();
    sizes[0] = 0;
    values = at::empty(sizes, values.options());
    sizes[0] = size;
    values = at::empty(sizes, values.options());
  };
  if (beside_N_.defined()) grow(beside_N_);
  grow(rows_NE_);
}

at::Tensor GpuVectors::beside(const void* rows_ND, const float* scale_N, int64_t num_rows) const {
  return is_binary() ? ones_of(rows_ND, num_rows, stored_) : host_view(scale_N, {num_rows}, at::kFloat);
}

void GpuVectors::add(const void* rows_ND, const float* scale_N, int64_t num_rows) {
  TORCH_INTERNAL_ASSERT(count_ + num_rows <= rows_NE_.size(0));
  const at::ScalarType dtype = rows_NE_.scalar_type();
  const int64_t row_bytes = stored_ * rows_NE_.element_size(), buffer_row_bytes = width_ * rows_NE_.element_size();
  const int64_t buffer_rows = std::clamp<int64_t>(kBufferBytes / buffer_row_bytes, 1, std::max<int64_t>(1, num_rows));
  const at::Tensor buffer = at::zeros({buffer_rows, width_}, dtype);
  for (int64_t first = 0; first < num_rows; first += buffer_rows) {
    const int64_t num = std::min(buffer_rows, num_rows - first);
    const auto* const from = static_cast<const char*>(rows_ND) + first * row_bytes;
    buffer.narrow(0, 0, num).narrow(1, 0, stored_).copy_(host_view(from, {num, stored_}, dtype));
    rows_NE_.narrow(0, count_, num).copy_(buffer.narrow(0, 0, num));
    if (beside_N_.defined()) beside_N_.narrow(0, count_, num).copy_(beside(from, scale_N + first, num));
    count_ += num;
  }
}

at::Tensor GpuVectors::on_gpu(const at::Tensor& queries_QD) const {
  const at::Tensor padded_QE = at::zeros({queries_QD.size(0), width_}, queries_QD.options());
  padded_QE.narrow(1, 0, stored_).copy_(queries_QD);
  return copy_to_gpu(padded_QE, rows_NE_.device());
}

GpuHits GpuVectors::search(const at::Tensor& queries_QD, const at::Tensor& scale_Q, const at::Tensor& hidden_N,
                           int64_t num_hits) {
  const at::Tensor marks_N =
      beside_N_.defined() ? beside_N_.narrow(0, 0, count_) : rows_NE_.select(1, 0).narrow(0, 0, count_);
  const Hidden hidden(marks_N, hidden_N);
  const at::Tensor queries_QE = on_gpu(queries_QD);
  if (is_binary()) {
    const at::Tensor ones_Q =
        copy_to_gpu(ones_of(queries_QD.const_data_ptr(), queries_QD.size(0), stored_), rows_NE_.device());
    return found(num_hits, {.queries_QE = queries_QE.const_data_ptr(),
                            .num_queries = queries_QE.size(0),
                            .width = 8 * width_,
                            .kind = cuda::VectorKind::kBinary,
                            .row_ones_N = beside_N_.const_data_ptr<int32_t>(),
                            .query_ones_Q = ones_Q.const_data_ptr<int32_t>(),
                            .dim = dim_,
                            .binary_scale = *scale_Q.const_data_ptr<float>()});
  }
  const bool has_scales = beside_N_.defined();
  const at::Tensor query_scale_Q = has_scales ? copy_to_gpu(scale_Q, rows_NE_.device()) : scale_Q;
  return found(num_hits, {.queries_QE = queries_QE.const_data_ptr(),
                          .row_scale_N = has_scales ? beside_N_.const_data_ptr<float>() : nullptr,
                          .query_scale_Q = has_scales ? query_scale_Q.const_data_ptr<float>() : nullptr,
                          .num_queries = queries_QE.size(0),
                          .width = width_,
                          .kind = has_scales ? cuda::VectorKind::kInt8 : cuda::VectorKind::kBf16});
}

GpuHits GpuVectors::found(int64_t num_hits, cuda::VectorSearch call) const {
  const auto options = rows_NE_.options();
  const GpuHits hits = {at::empty({call.num_queries, num_hits}, options.dtype(at::kInt)),
                        at::empty({call.num_queries, num_hits}, options.dtype(at::kFloat))};
  call.num_parts = gpu().vector_search_parts(count_, call.num_queries, gpu().num_processors());
  at::Tensor scratch = at::empty({gpu().vector_search_scratch_bytes(call.num_queries, num_hits, call.num_parts)},
                                 options.dtype(at::kByte));
  call.ids_QM = hits.ids_QM.mutable_data_ptr<int32_t>();
  call.scores_QM = hits.scores_QM.mutable_data_ptr<float>();
  call.scratch = scratch.mutable_data_ptr();
  call.rows_NE = rows_NE_.const_data_ptr();
  call.num_rows = count_;
  call.num_hits = num_hits;
  require_launched(gpu().search_vectors(call, stream_of(rows_NE_)));
  return hits;
}

GpuHits GpuVectors::rescore(const GpuHits& candidates, const at::Tensor& queries_QD, int64_t num_hits) const {
  const at::Tensor queries_QE = on_gpu(queries_QD);
  const int64_t num_queries = queries_QE.size(0), num_candidates = candidates.ids_QM.size(1);
  const GpuHits hits = {at::empty({num_queries, num_hits}, candidates.ids_QM.options()),
                        at::empty({num_queries, num_hits}, candidates.scores_QM.options())};
  at::Tensor scratch =
      at::empty({gpu().vector_rescore_scratch_bytes(num_queries, num_candidates)}, rows_NE_.options().dtype(at::kByte));
  const cuda::VectorRescore call = {.ids_QM = hits.ids_QM.mutable_data_ptr<int32_t>(),
                                    .scores_QM = hits.scores_QM.mutable_data_ptr<float>(),
                                    .scratch = scratch.mutable_data_ptr(),
                                    .candidates_QL = candidates.ids_QM.const_data_ptr<int32_t>(),
                                    .rows_NE = rows_NE_.const_data_ptr(),
                                    .queries_QE = queries_QE.const_data_ptr<float>(),
                                    .num_candidates = num_candidates,
                                    .num_queries = num_queries,
                                    .width = width_,
                                    .num_hits = num_hits,
                                    .dtype = gpu_dtype(rows_NE_)};
  require_launched(gpu().rescore_vectors(call, stream_of(rows_NE_)));
  return hits;
}

}  // namespace seekrl::ops
