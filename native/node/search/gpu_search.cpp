// Queries go to the GPU as many at a time as a launch takes; ids and scores come to the host.
#include "node/search/gpu_search.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/search/vectors.h"
#include "ops/gpu/transfer.h"

namespace seekrl::node {

namespace {

using search::Scalar;
using search::VectorFormat;
using search::VectorIndex;

at::ScalarType dtype_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF32: return at::kFloat;
    case Scalar::kBf16: return at::kBFloat16;
    case Scalar::kI8: return at::kChar;
    case Scalar::kB1: break;
  }
  return at::kByte;
}

ops::GpuVectors gpu_vectors(const VectorIndex& index, at::Device device) {
  return ops::GpuVectors(index.format().dim, dtype_of(index.format().scalar), index.capacity(), device);
}

void upload_rows(const VectorIndex& index, int64_t num_rows, ops::GpuVectors& to) {
  to.reserve(num_rows);
  const int64_t first = to.count();
  if (first >= num_rows) return;
  const search::VectorRows& rows = index.rows();
  std::vector<float> scales;
  if (index.format().scalar == Scalar::kI8) {
    for (int64_t row = first; row < num_rows; ++row) scales.push_back(rows.scale(row));
  }
  to.add(rows.at(first), scales.empty() ? nullptr : scales.data(), num_rows - first);
}

struct Queries {
  at::Tensor values_QD, scale_Q;
};

// As rows of the format are compared with them.
Queries encoded(const VectorFormat& format, const float* queries_QD, int64_t num_queries) {
  const at::ScalarType dtype = dtype_of(format.scalar);
  const auto stored = static_cast<int64_t>(format.bytes() / at::elementSize(dtype));
  const bool has_scale = format.scalar == Scalar::kI8 || format.scalar == Scalar::kB1;
  const Queries queries = {at::empty({num_queries, stored}, dtype),
                           has_scale ? at::empty({num_queries}, at::kFloat) : at::Tensor()};
  auto* const to = static_cast<std::byte*>(queries.values_QD.mutable_data_ptr());
  for (int64_t q = 0; q < num_queries; ++q) {
    const search::StoredQuery query(format, queries_QD + q * format.dim);
    std::memcpy(to + static_cast<size_t>(q) * format.bytes(), query.data(), format.bytes());
    if (queries.scale_Q.defined()) queries.scale_Q.mutable_data_ptr<float>()[q] = query.scale;
  }
  return queries;
}

}  // namespace

GpuSearch::GpuSearch(std::shared_ptr<const VectorIndex> index, std::shared_ptr<const VectorIndex> rescore,
                     at::Device device)
    : index_(std::move(index)), rescore_(std::move(rescore)), device_(device), rows_(gpu_vectors(*index_, device)) {
  if (rescore_ != nullptr) finer_ = gpu_vectors(*rescore_, device);
}

void GpuSearch::upload(int64_t num_rows) {
  upload_rows(*index_, num_rows, rows_);
  if (finer_) upload_rows(*rescore_, num_rows, *finer_);
}

// A bit a row goes to the GPU, which makes a byte of it.
at::Tensor GpuSearch::mask(const search::RowSet& rows) const {
  static_assert(std::endian::native == std::endian::little);  // bit r of the words is bit r of their bytes
  std::vector<int64_t> words(rows.words().begin(), rows.words().end());
  words.resize(static_cast<size_t>((rows_.count() + 63) / 64));
  const at::Tensor bytes_B1 = ops::copy_to_gpu(words, device_).view(at::kByte).unsqueeze(1);
  const at::Tensor bits_8 = ops::copy_to_gpu(std::vector<uint8_t>{1, 2, 4, 8, 16, 32, 64, 128}, device_);
  return bytes_B1.bitwise_and(bits_8).to(at::kBool).view({-1}).narrow(0, 0, rows_.count());
}

const at::Tensor& GpuSearch::removed_mask() {
  const auto removed = index_->removed();
  const bool is_known = removed == removed_ && (!mask_N_.defined() || mask_N_.size(0) == rows_.count());
  if (!is_known) {
    removed_ = removed;
    mask_N_ = removed == nullptr ? at::Tensor() : mask(*removed);
  }
  return mask_N_;
}

ops::GpuHits GpuSearch::nearest(const float* queries_QD, int64_t num_queries, const at::Tensor& hidden_N,
                                const Wanted& wanted) {
  const Queries queries = encoded(index_->format(), queries_QD, num_queries);
  const ops::GpuHits hits = rows_.search(queries.values_QD, queries.scale_Q, hidden_N, wanted.num_candidates);
  if (!finer_) return hits;
  const at::Tensor exact_QD = encoded(rescore_->format(), queries_QD, num_queries).values_QD.to(at::kFloat);
  return finer_->rescore(hits, exact_QD, wanted.top_k);
}

Found GpuSearch::search(const GpuRequest& request) {
  upload(request.num_rows);
  const int64_t dim = index_->format().dim, top_k = request.top_k;
  const int64_t num_queries = std::ssize(request.queries_QD) / dim;
  Found found(num_queries, top_k, request.num_rows);
  if (rows_.count() == 0) return found;
  const int64_t factor = finer_ ? request.over_fetch : 1;
  const int64_t num_hits = std::min(top_k * factor, std::max(top_k, request.num_rows));
  require(num_hits <= cuda::kMaxSearchHits, ErrorCode::kRange, "topK: on a GPU expected at most ", cuda::kMaxSearchHits,
          " candidates, topK times overFetch, got ", num_hits);
  const at::Tensor hidden_N = request.excluded ? mask(*request.excluded) : removed_mask();
  for (int64_t first = 0; first < num_queries; first += cuda::kMaxSearchQueries) {
    const int64_t num = std::min(cuda::kMaxSearchQueries, num_queries - first);
    const float* const asked = request.queries_QD.data() + first * dim;
    const ops::GpuHits hits = nearest(asked, num, hidden_N, {num_hits, top_k});
    const at::Tensor scores = ops::copy_to_host(hits.scores_QM), ids = hits.ids_QM.to(at::kCPU);  // waits for both
    std::copy_n(ids.const_data_ptr<int32_t>(), ids.numel(), found.ids_QK.begin() + first * top_k);
    std::copy_n(scores.const_data_ptr<float>(), scores.numel(), found.scores_QK.begin() + first * top_k);
  }
  for (size_t i = 0; i < found.ids_QK.size(); ++i) {
    if (found.ids_QK[i] < 0) found.scores_QK[i] = 0;
  }
  return found;
}

}  // namespace seekrl::node
