// Vectors kept on a card, and the nearest of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace seekrl::ops {

// On the card, [Q, M] each: rows (i32, -1 where there are fewer) and their scores (f32).
struct CardHits {
  at::Tensor ids_QM, scores_QM;
};

class CardVectors {
 public:
  // dtype: bf16, i8 (whose rows have scales) or f32 (which are scored again, not searched). Memory is taken as rows
  // come, for `capacity` of them at most.
  CardVectors(int64_t dim, at::ScalarType dtype, int64_t capacity, at::Device device);

  int64_t count() const { return count_; }

  // Rows of the host, one behind the other, after those already there; by way of a buffer of at most kBufferBytes.
  // scale_N: of i8, else null.
  void add(const void* rows_ND, const float* scale_N, int64_t num_rows);

  // queries_QD: on the host, in the rows' dtype; scale_Q: of i8, else undefined; hidden_N: bool, rows that are not
  // found, or undefined. As cuda::search_vectors, for at most cuda::kMaxSearchQueries queries.
  CardHits search(const at::Tensor& queries_QD, const at::Tensor& scale_Q, const at::Tensor& hidden_N,
                  int64_t num_hits);

  // queries_QD: f32, on the host. As cuda::rescore_vectors.
  CardHits rescore(const CardHits& candidates, const at::Tensor& queries_QD, int64_t num_hits) const;

  static constexpr int64_t kBufferBytes = int64_t{64} << 20;

 private:
  void reserve(int64_t num_rows);
  at::Tensor on_card(const at::Tensor& queries_QD) const;
  CardHits found(const at::Tensor& queries_QE, const at::Tensor& scale_Q, int64_t num_hits) const;

  int64_t dim_, width_, capacity_, count_ = 0;  // width: dim filled up with zeros to what the kernels take
  at::Tensor rows_NE_, scale_N_;
};

}  // namespace seekrl::ops
