// Vectors kept on a GPU, and the nearest of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/cuda/search/vectors.h"

namespace seekrl::ops {

// On the GPU, [Q, M] each: rows (i32, -1 where there are fewer) and their scores (f32).
struct GpuHits {
  at::Tensor ids_QM, scores_QM;
};

class GpuVectors {
 public:
  // dtype: bf16, i8 (whose rows have scales), u8 (signs, a bit each, in words of 64) or f32 (which are scored again,
  // not searched). For `capacity` rows at most.
  GpuVectors(int64_t dim, at::ScalarType dtype, int64_t capacity, at::Device device);

  int64_t count() const { return count_; }

  // Room for so many rows, and for a quarter more than there was. Where there was less all rows are forgotten, to be
  // added again: with a copy of them the GPU would hold nearly twice as many.
  void reserve(int64_t num_rows);

  // Rows of the host, one behind the other, after those already there, for which there is room; by way of a buffer of
  // at most kBufferBytes. scale_N: of i8, else null.
  void add(const void* rows_ND, const float* scale_N, int64_t num_rows);

  // queries_QD: on the host, stored as rows are; scale_Q: of i8 and signs, else undefined; hidden_N: bool, rows that
  // are not found, or undefined. As cuda::search_vectors, for at most cuda::kMaxSearchQueries queries.
  GpuHits search(const at::Tensor& queries_QD, const at::Tensor& scale_Q, const at::Tensor& hidden_N, int64_t num_hits);

  // queries_QD: f32, on the host. As cuda::rescore_vectors.
  GpuHits rescore(const GpuHits& candidates, const at::Tensor& queries_QD, int64_t num_hits) const;

  static constexpr int64_t kBufferBytes = int64_t{64} << 20;

 private:
  bool is_binary() const { return rows_NE_.scalar_type() == at::kByte; }
  // On the host, what rows have beside their numbers.
  at::Tensor beside(const void* rows_ND, const float* scale_N, int64_t num_rows) const;
  at::Tensor on_gpu(const at::Tensor& queries_QD) const;
  // `call` has what concerns the queries.
  GpuHits found(int64_t num_hits, cuda::VectorSearch call) const;

  // Of a row: its components, their numbers as they are stored, and these filled up with zeros to what kernels take.
  int64_t dim_, stored_, width_;
  int64_t capacity_, count_ = 0;
  at::Tensor rows_NE_, beside_N_;  // beside: scales (f32) of i8, numbers of ones (i32) of signs
};

}  // namespace seekrl::ops
